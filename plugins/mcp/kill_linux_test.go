package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// When the plugin is killed, its server goes with it, even one that neither
// minds the end of its stdin nor SIGTERM.
func TestKilledPluginLeavesNothing(t *testing.T) {
	t.Parallel()
	cfg, log := faulty(t, "-fault", "eofignore,ignoreterm")
	p := serve(t, cfg)
	p.tools(t)
	pid := startedPID(t, log)
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	for ctx := within(t); runs(pid); {
		select {
		case <-ctx.Done():
			t.Fatalf("the server, process %d, is still there", pid)
		case <-time.After(10 * time.Millisecond): // nothing announces the end of a stranger's child
		}
	}
}

// runs says whether a process is there and no zombie, which whoever inherited
// it may be slow to collect.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ") // after the name in parentheses
	return !strings.HasPrefix(state, "Z")
}

// startedPID is the process id in the first line of a server's log.
func startedPID(t *testing.T, log string) int {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	var start struct {
		Event string
		PID   int
	}
	if err := json.Unmarshal([]byte(first), &start); err != nil || start.Event != "start" || start.PID == 0 {
		t.Fatalf("the log begins with %q: %v", first, err)
	}
	return start.PID
}
