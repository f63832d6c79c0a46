//go:build !windows

package codemode

import "syscall"

// environment is all that the process gets: nothing of the host's.
func environment() []string { return []string{"GOMAXPROCS=1", "TZ=UTC"} }

// kill ends the process and whatever is in its group.
func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
