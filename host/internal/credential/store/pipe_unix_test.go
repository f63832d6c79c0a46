//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Nobody waits for what a pipe in the file's place may say one day.
func TestPipe(t *testing.T) {
	s := &Store{Path: path(t)}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(s.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	const patience = 10 * time.Second
	done := make(chan struct{})
	go func() {
		defer close(done)
		if at := s.Location(); at != s.Path {
			t.Errorf("it is in %s", at)
		}
		if _, err := s.Read(); err == nil {
			t.Error("it was read")
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("it is waited for")
		if w, err := os.OpenFile(s.Path, os.O_WRONLY, 0); err == nil {
			w.Close()
		}
		<-done
	}
}
