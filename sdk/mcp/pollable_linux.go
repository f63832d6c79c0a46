package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// pollable is what f reads from or writes to, as a file for which Go waits without a
// thread of its own. Standard streams come as files whose every read keeps a thread in
// the kernel, and the rest of the process is woken only when another one notices that:
// a tenth of the time of a small call. release, which never is nil, is to be called when
// the file is not used any more. What cannot be waited for is returned as it is: a
// terminal, which others read as well, and a regular file.
func pollable(f *os.File) (own *os.File, release func()) {
	as := func() {}
	if f.SetDeadline(time.Time{}) == nil {
		return f, as // it is one
	}
	info, err := f.Stat()
	if err != nil {
		return f, as
	}
	if own, release, err = reopen(f, info.Mode()); err != nil {
		return f, as
	}
	return own, release
}

func reopen(f *os.File, mode fs.FileMode) (own *os.File, release func(), err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		switch {
		case mode&fs.ModeNamedPipe != 0:
			own, release, inner = reopenPipe(int(fd))
		case mode&fs.ModeSocket != 0:
			own, release, inner = shareSocket(int(fd))
		default:
			inner = errors.New("nothing to wait for")
		}
	})
	return own, release, errors.Join(err, inner)
}

// pipeRoom is how much may stand in a pipe that is written to, in bytes: as much as
// everybody may have (proc(5), pipe-max-size). A longer message goes in pieces, and the
// writer is woken for each when this process next looks for what it can go on with, which
// takes it milliseconds while it starts servers. With the system's 64 KiB the first list
// of a thousand tools took three times as long.
const pipeRoom = 1 << 20

// reopenPipe opens the same pipe once more. What is set for the new file does not
// concern others that have the old one.
func reopenPipe(fd int) (*os.File, func(), error) {
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 {
		return nil, nil, errno
	}
	access := int(flags) & syscall.O_ACCMODE
	own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), access|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if access == syscall.O_WRONLY {
		// Where it may not be so large it stays as it is.
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETPIPE_SZ, pipeRoom)
	}
	return own, func() { _ = own.Close() }, nil
}

// shareSocket has both files not block, for as long as the new one is used. Of a
// socket there is no other way.
func shareSocket(fd int) (*os.File, func(), error) {
	own, err := syscall.Dup(fd)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(own)
	if err := syscall.SetNonblock(own, true); err != nil {
		_ = syscall.Close(own)
		return nil, nil, err
	}
	file := os.NewFile(uintptr(own), "socket")
	return file, func() {
		_ = file.Close()
		_ = syscall.SetNonblock(fd, false)
	}, nil
}
