package cli

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
)

// opener opens addresses as this system does, or in $BROWSER; each is one argument of
// a program, and no shell sees it.
func opener(getenv func(string) string) func(url string) error {
	return func(url string) error {
		command := strings.Fields(getenv("BROWSER"))
		if len(command) == 0 {
			switch runtime.GOOS {
			case "darwin":
				command = []string{"open"}
			case "windows":
				command = []string{"rundll32", "url.dll,FileProtocolHandler"}
			default:
				if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
					return errors.New("there is no display here")
				}
				command = []string{"xdg-open"}
			}
		}
		cmd := exec.Command(command[0], append(command[1:], url)...)
		cmd.SysProcAttr = detached() // Ctrl-C is for collet, and not for a browser that it started
		if err := cmd.Start(); err != nil {
			return err
		}
		// It is the person's from now on, and may run for days.
		return cmd.Process.Release()
	}
}
