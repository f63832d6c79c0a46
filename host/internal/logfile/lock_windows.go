package logfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the lock that processes hold while they rotate, which takes
// microseconds. The kernel releases it when a process dies.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
