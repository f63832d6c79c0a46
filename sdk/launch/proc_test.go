package launch

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processes returns the pids of living processes that run the faulty adapter.
func processes(t *testing.T) []int {
	t.Helper()
	needProc(t)
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	var pids []int
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && strings.HasPrefix(exe, faulty) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux's /proc to see processes")
	}
}

// state returns the state letter of a process, 0 when there is none.
func state(pid int) byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[0]
}

func alive(pid int) bool {
	s := state(pid)
	return s != 0 && s != 'Z' && s != 'X'
}

// awaitStopped waits until SIGSTOP has stopped pid, which is no event.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	needProc(t)
	eventually(t, "the process is not stopped", func() bool { return state(pid) == 'T' })
}

// eventually polls for what is no event: the state of other processes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testWait); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

func killPid(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(syscall.SIGKILL)
		_ = p.Release()
	}
}

func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// openFiles counts our descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	needProc(t)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
