//go:build unix

package cli

import "syscall"

// maxInherited is how many descriptors are looked at: a shell passes few on, with low
// numbers.
const maxInherited = 256

// detached is a session of its own: no Ctrl-C of this terminal reaches it. What this
// process has inherited beyond its standard streams stays here: whoever waits for the
// end of such a pipe or terminal would wait for a process that outlives the command.
func detached() *syscall.SysProcAttr {
	for fd := 3; fd < maxInherited; fd++ {
		syscall.CloseOnExec(fd) // what Go has opened is that already
	}
	return &syscall.SysProcAttr{Setsid: true}
}
