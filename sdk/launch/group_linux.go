package launch

import (
	"errors"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the process has exited, and leaves it a zombie.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// sessionMembers returns the living processes of session sid apart from its
// leader. Without /proc it returns none, and the process group has to do.
func sessionMembers(sid int) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var members []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == sid {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && sessionOf(stat) == sid {
			members = append(members, pid)
		}
	}
	return members
}

// sessionOf reads the session id from the text of /proc/PID/stat. It returns 0 for a
// process that is dead already.
func sessionOf(stat []byte) int {
	r, _ := relativeOf(stat)
	return r.session
}
