package mcp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inherited is a file as a standard stream comes: one that blocks.
func inherited(t *testing.T, fd int) *os.File {
	t.Helper()
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "inherited")
	t.Cleanup(func() { _ = f.Close() })
	if f.SetDeadline(time.Time{}) == nil {
		t.Fatal("it does not block")
	}
	return f
}

func blocks(t *testing.T, f *os.File) bool {
	t.Helper()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return flags&syscall.O_NONBLOCK == 0
}

func TestPollable(t *testing.T) {
	pair := func(make func(*[2]int) error) (near, far *os.File) {
		var fds [2]int
		if err := make(&fds); err != nil {
			t.Fatal(err)
		}
		return inherited(t, fds[0]), inherited(t, fds[1])
	}
	pipe := func(fds *[2]int) error { return syscall.Pipe2(fds[:], syscall.O_CLOEXEC) }
	socket := func(fds *[2]int) (err error) {
		*fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		return err
	}
	for name, make := range map[string]func(*[2]int) error{"pipe": pipe, "socket": socket} {
		near, far := pair(make)
		own, release := pollable(near)
		if own == near || own.SetReadDeadline(time.Now()) != nil {
			t.Errorf("%s: nothing to wait for", name)
		}
		if _, err := own.Read([]byte{0}); !os.IsTimeout(err) {
			t.Errorf("%s: %v", name, err)
		}
		_ = own.SetReadDeadline(time.Time{})
		if _, err := far.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if n, err := own.Read([]byte{0}); n != 1 || err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "pipe" && !blocks(t, near) {
			t.Error("others who have the pipe do not block any more")
		}
		release()
		if !blocks(t, near) {
			t.Errorf("%s: left not to block", name)
		}
		_ = far.Close()
	}
	// The other end of a pipe: what nobody reads is there when it is closed.
	far, near := pair(pipe)
	own, release := pollable(near)
	if own == near {
		t.Error("nothing to wait for")
	}
	if _, err := own.WriteString("x"); err != nil {
		t.Error(err)
	}
	release()
	_ = near.Close()
	if all, err := io.ReadAll(far); string(all) != "x" || err != nil {
		t.Errorf("%q, %v", all, err)
	}

	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if own, _ := pollable(file); own != file {
		t.Error("another file of a regular one")
	}
}

// Standard streams as Node gives them to a child: sockets. Ended by the context in the
// middle of a read, nothing is left behind.
func TestServeStdioOverSockets(t *testing.T) {
	var near, far [2]*os.File
	for i := range near {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		near[i], far[i] = inherited(t, fds[0]), inherited(t, fds[1])
	}
	s := NewServer(counter{[]byte(smallResult)}, ServerOptions{Name: "test", Version: "1"})
	defer s.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(ctx, near[0], near[1]) }()
	if _, err := far[0].WriteString(modernCall("1", "echo", `{}`) + "\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4<<10)
	if n, err := far[1].Read(buf); err != nil || !strings.Contains(string(buf[:n]), `"text":"ok"`) {
		t.Errorf("%q, %v", buf[:n], err)
	}
	cancel()
	<-ended
	for _, f := range near {
		if !blocks(t, f) {
			t.Error("left not to block")
		}
	}
}
