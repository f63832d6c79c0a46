//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func native() transport { return unixSocket{} }

// unixSocket asks the system which user is at the other end.
type unixSocket struct{}

func (unixSocket) listen(place Place) (net.Listener, error) {
	if err := os.Remove(place.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", place.socket())
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // another's may be there by then
	if err := os.Chmod(place.socket(), 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// admit does not rely on the modes of files, which are no proof on every file system.
func (unixSocket) admit(conn net.Conn) error { return sameUser(conn) }

func (unixSocket) dial(ctx context.Context, place Place) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", place.socket())
	if err != nil {
		return nil, err
	}
	if err := sameUser(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// processOf is the process at the other end, 0 where the system does not say.
func processOf(conn net.Conn) (pid int) {
	over, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	if raw, err := over.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { pid = peerProcess(int(fd)) })
	}
	return pid
}

func sameUser(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	uid := -1
	var failed error
	if err := raw.Control(func(fd uintptr) { uid, failed = peerUser(int(fd)) }); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return same(uid, os.Getuid())
}

func same(uid, mine int) error {
	if uid != mine {
		return fmt.Errorf("user %d is at the other end, this is user %d", uid, mine)
	}
	return nil
}

// runs reports whether there is a process.
func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }

func makeDir(dir string) error { return os.MkdirAll(dir, 0o700) }

// owned reports what is wrong with the owner and the mode of a file or directory.
func owned(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("it belongs to user %d", stat.Uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others may look into it (mode %04o); chmod %03o it", mode, mode&0o700)
	}
	return nil
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

func shortDir() string { return "/tmp/collet-run-" + strconv.Itoa(os.Getuid()) }
