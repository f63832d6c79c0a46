//go:build unix

package mcp

import (
	"errors"
	"os/exec"
	"syscall"
)

// prepare puts the child at the head of a process group of its own, inside the
// caller's session: signals to the group reach everything it starts, and
// whoever sweeps the session still finds it.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// group is a process group, named by its leader's id. The id stays taken while
// the group has members; once it is empty a signal could in theory reach a new
// group of the same number, which takes a full turn of the kernel's ids within
// the instant between a look and a signal.
type group struct{ id int }

func newGroup(cmd *exec.Cmd) group { return group{cmd.Process.Pid} }

func (g group) alive() bool { return !errors.Is(syscall.Kill(-g.id, 0), syscall.ESRCH) }
func (g group) terminate()  { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g group) kill()       { _ = syscall.Kill(-g.id, syscall.SIGKILL) }
func (g group) release()    {}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
