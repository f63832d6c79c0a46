package cli

import "os/exec"

// startDetached starts this program again so that it outlives this process and its
// terminal. It says nothing to anybody. ended gets its exit code if it ends while this
// process is there.
func startDetached(exe string, args []string) (ended <-chan int, err error) {
	cmd := exec.Command(exe, args...)
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	code := make(chan int, 1)
	go func() { // it ends with the process that is waited for, or with this one
		_ = cmd.Wait()
		code <- cmd.ProcessState.ExitCode()
	}()
	return code, nil
}
