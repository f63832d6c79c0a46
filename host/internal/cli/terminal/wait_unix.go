//go:build unix

package terminal

import (
	"io"
	"os"
	"syscall"
)

// Waiting is In for a reader that waits for its next bytes most of the time; done
// is called when it reads no more. Of a pipe the runtime is told when there is
// something, so that nobody sits in a system call meanwhile: what was read is then
// worked on by the same thread at once, and closing the stream ends the waiting.
// Anything else, and a pipe that cannot be waited for like that, is In itself.
func (s *Streams) Waiting() (in io.Reader, done func()) {
	f, ok := s.In.(*os.File)
	if !ok {
		return s.In, func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f, func() {}
	}
	// A descriptor of its own, as closing it must not make room for another file at
	// the number of stdin.
	syscall.ForkLock.RLock()
	own, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		syscall.CloseOnExec(own)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return f, func() {}
	}
	if err := syscall.SetNonblock(own, true); err != nil {
		_ = syscall.Close(own)
		return f, func() {}
	}
	waiting := os.NewFile(uintptr(own), f.Name())
	return waiting, func() {
		_ = waiting.Close() // by the reader, perhaps
		// It is a mark of the pipe, which whoever started this program may share.
		_ = syscall.SetNonblock(int(f.Fd()), false)
	}
}
