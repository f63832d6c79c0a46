package cli

import (
	"os"
	"os/exec"
)

// startDetached starts this program again so that it outlives this process and its
// terminal, in dir, or where this one is. It says nothing to anybody. ended gets how it
// ended if that is while this process is there.
func startDetached(exe, dir string, args []string) (ended <-chan *os.ProcessState, err error) {
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	state := make(chan *os.ProcessState, 1)
	go func() { // it ends with the process that is waited for, or with this one
		_ = cmd.Wait()
		state <- cmd.ProcessState
	}()
	return state, nil
}
