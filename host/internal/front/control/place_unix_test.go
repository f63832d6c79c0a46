//go:build unix

package control

import (
	"net"
	"os"
	"strings"
	"testing"
)

// Nobody else may enter the directory or connect to the socket, which goes with its
// owner; that of a process that was killed is replaced.
func TestSocket(t *testing.T) {
	p := place(t)
	o, err := Own(p)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{p.Dir: 0o700, p.socket(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	o.Release()
	if _, err := os.Stat(p.socket()); err == nil {
		t.Error("the socket is left")
	}
	l, err := net.Listen("unix", p.socket())
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if _, err := Dial(t.Context(), p, "b"); err == nil {
		t.Error("a dead one answers")
	}
	if o, err = Own(p); err != nil {
		t.Fatal(err)
	}
	o.Release()
}

func TestOwnRefuses(t *testing.T) {
	p := place(t)
	if err := os.Mkdir(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Own(p); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a directory that others look into: %v", err)
	}
	if err := os.Remove(p.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), p.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Own(p); err == nil {
		t.Error("a link to a directory will do")
	}
}
