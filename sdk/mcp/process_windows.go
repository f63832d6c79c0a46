package mcp

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// prepare keeps console signals for us from reaching the child.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// group is the child alone: Windows has no signal to ask a process without a
// window to leave, and no group to send one to. What the child started is left
// to the job object of the process that started us.
type group struct{ leader *os.Process }

func newGroup(cmd *exec.Cmd) group { return group{cmd.Process} }

func (g group) alive() bool { return false }
func (g group) terminate()  {}
func (g group) kill()       { _ = g.leader.Kill() }

func isBrokenPipe(err error) bool {
	const errorNoData = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errorNoData)
}
