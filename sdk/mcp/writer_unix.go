//go:build unix

package mcp

import (
	"os"
	"syscall"
	"time"
)

// atOnce returns what writes to f as much as its reader has room for, and never waits;
// nil when f is a file for which Go cannot wait, and a write might. Not for several
// goroutines at once.
func atOnce(f *os.File) func(b []byte) int {
	if f.SetWriteDeadline(time.Time{}) != nil {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	var (
		left []byte
		n    int
	)
	try := func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), left)
		return true // an error shows again where somebody waits
	}
	return func(b []byte) int {
		left, n = b, 0
		err := raw.Write(try)
		left = nil
		if err != nil {
			return 0
		}
		return max(n, 0)
	}
}
