package check

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// sweepLimit bounds how long the kernel has to finish killed processes.
const sweepLimit = 2 * time.Second

// sweepPoll is how often it is looked: strangers' ends are no event.
const sweepPoll = 5 * time.Millisecond

// marked are the living processes that have the variable kv in their environment.
func marked(kv string) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + name + "/environ") // empty of a zombie
		if err == nil && (bytes.HasPrefix(environ, []byte(kv+"\x00")) || bytes.Contains(environ, []byte("\x00"+kv+"\x00"))) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killMarked kills them, and those they start meanwhile.
func killMarked(kv string) {
	for deadline := time.Now().Add(sweepLimit); ; time.Sleep(sweepPoll) {
		pids := marked(kv)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) == 0 || time.Now().After(deadline) {
			return
		}
	}
}
