package cli

import "os/exec"

// startDetached starts this program again so that it outlives this process and its
// terminal. It says nothing to anybody.
func startDetached(exe string, args []string) error {
	cmd := exec.Command(exe, args...)
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
