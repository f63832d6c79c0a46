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

// gate lets in processes of the same user.
type gate struct{}

func (gate) listen(place Place) (net.Listener, error) {
	if err := os.Remove(place.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", place.socket())
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(place.socket(), 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// check asks the system who is at the other end: the modes of files are no proof on
// every file system.
func (gate) check(conn net.Conn) error { return sameUser(conn) }

func (p Place) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", p.socket())
	if err != nil {
		return nil, err
	}
	if err := sameUser(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
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

func owned(dir fs.FileInfo) error {
	if stat, ok := dir.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("it belongs to user %d", stat.Uid)
	}
	if mode := dir.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others may look into it (mode %04o); chmod 700 it", mode)
	}
	return nil
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

func shortDir() string { return "/tmp/collet-run-" + strconv.Itoa(os.Getuid()) }
