//go:build unix

package terminal

import (
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Resized tells that the terminal may have another size, until stop is called.
func Resized() (tells <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// unread reports whether nobody reads what is written to w any more, as far as that is
// known before anything is written.
func unread(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	// Some systems say that the reader has gone only to who asks whether they may write.
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
