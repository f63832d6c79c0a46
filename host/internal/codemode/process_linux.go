package codemode

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// self is how this program is started again; the link works also when the file was
// replaced meanwhile.
func self() (string, error) { return "/proc/self/exe", nil }

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limit binds the running process: memory, processor time, and no files.
func (p *process) limit(heap int64, cpu time.Duration) error {
	seconds := uint64((cpu + time.Second - 1) / time.Second)
	for _, l := range []struct {
		resource  int
		soft, max uint64
	}{
		{unix.RLIMIT_DATA, uint64(heap + dataSpare), uint64(heap + dataSpare)},
		{unix.RLIMIT_CPU, seconds, seconds + 1}, // SIGXCPU first, which the process reports; then SIGKILL
		{unix.RLIMIT_NOFILE, openFiles, openFiles},
		{unix.RLIMIT_FSIZE, 0, 0},
		{unix.RLIMIT_CORE, 0, 0},
	} {
		if err := unix.Prlimit(p.cmd.Process.Pid, l.resource, &unix.Rlimit{Cur: l.soft, Max: l.max}, nil); err != nil {
			return fmt.Errorf("limit a script's process: %w", os.NewSyscallError("prlimit", err))
		}
	}
	return nil
}
