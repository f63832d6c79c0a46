//go:build unix && !linux

package launch

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the process has exited.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// sessionMembers returns one entry while the leader's process group has a
// living member: these systems do not tell who is in a session, so descendants
// that made a process group of their own are left to their adapter.
func sessionMembers(sid int) []int {
	if unix.Kill(-sid, 0) != nil {
		return nil
	}
	return []int{-sid}
}
