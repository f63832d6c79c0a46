//go:build unix

package cli

import "syscall"

// detached is a session of its own: no Ctrl-C of this terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
