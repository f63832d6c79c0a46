//go:build unix

package terminal

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

func nonblocking(t *testing.T, f *os.File) bool {
	t.Helper()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return flags&syscall.O_NONBLOCK != 0
}

// A pipe can be read and closed while it is read, and is afterwards what it was.
func TestWaiting(t *testing.T) {
	// As a parent makes a child's stdin: blocking.
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	read, write := os.NewFile(uintptr(fds[0]), "read"), os.NewFile(uintptr(fds[1]), "write")
	defer read.Close()
	defer write.Close()
	in, done := (&Streams{In: read}).Waiting()
	if in == io.Reader(read) || !nonblocking(t, read) {
		t.Fatal("it would be waited for in a system call")
	}
	if _, err := write.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	if n, err := in.Read(b); err != nil || string(b[:n]) != "abc" {
		t.Fatalf("%q %v", b[:n], err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := in.Read(b)
		ended <- err
	}()
	done()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("a read that is closed: %v", err)
	}
	if nonblocking(t, read) {
		t.Error("whoever shares the pipe finds it changed")
	}
	if _, err := write.WriteString("d"); err != nil {
		t.Fatal(err)
	}
	if n, err := read.Read(b); err != nil || string(b[:n]) != "d" {
		t.Errorf("afterwards %q %v", b[:n], err)
	}
}

func TestWaitingForWhatIsNoPipe(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, in := range []io.Reader{file, strings.NewReader("x")} {
		got, done := (&Streams{In: in}).Waiting()
		if got != in {
			t.Errorf("%v became %v", in, got)
		}
		done()
	}
}
