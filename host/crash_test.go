//go:build unix

package host_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// soon is how fast a call must fail whose adapter was killed (a second by
// contract), with room for a loaded machine in the test.
const soon = 5 * time.Second

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestKillOneAdapterMidCall(t *testing.T) {
	h := open(t, `
[servers.a]
command = "${BUILT}/faultserver"
args = ["-fault", "stderrflood", "-size", "100"]
[servers.b]
command = "${BUILT}/faultserver"
`)
	mustCall(t, h, "a/echo", `{"text":"x"}`)
	mustCall(t, h, "b/echo", `{"text":"x"}`)
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	a, b := endless(ctx, h, "a"), endless(ctx, h, "b")
	<-a.running
	<-b.running
	victim := pidOf(t, h, "a")
	killed := time.Now()
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f, ok := (<-a.ended).(*host.Failure)
	if !ok {
		t.Fatal("the call on a ended without a failure")
	}
	if took := time.Since(killed); took > soon {
		t.Errorf("the call failed %s after the kill", took)
	}
	if f.Class != failure.ConnectionRefused || f.Delivery != failure.DeliveryUnknown || !strings.Contains(f.Message, "signal: killed") || len(f.StderrTail) == 0 {
		t.Errorf("got %v %v %q tail %q", f.Class, f.Delivery, f.Message, f.StderrTail)
	}
	for range 10 {
		mustCall(t, h, "b/echo", `{"text":"x"}`)
	}
	// The next call restarts it.
	mustCall(t, h, "a/echo", `{"text":"x"}`)
	if pid := pidOf(t, h, "a"); pid == victim || pid == 0 {
		t.Errorf("pid %d after %d", pid, victim)
	}
	select {
	case err := <-b.ended:
		t.Errorf("the call on b ended: %v", err)
	default:
	}
	cancel()
	if f, ok := (<-b.ended).(*host.Failure); !ok || f.Class != failure.Canceled {
		t.Errorf("call on b: %v", f)
	}
}

// call is one that goes on until something ends it.
type call struct {
	running chan struct{} // closed once the server has answered with progress
	ended   chan error
}

func endless(ctx context.Context, h *host.Host, server string) call {
	c := call{make(chan struct{}), make(chan error, 1)}
	var once sync.Once
	go func() {
		_, err := h.Call(ctx, host.Request{
			Tool: server + "/t_progress_forever", OnProgress: func(host.Progress) { once.Do(func() { close(c.running) }) },
		})
		c.ended <- err
	}()
	return c
}

func TestKillTheHost(t *testing.T) {
	opt := options(t, `
[servers.a]
plugin = "testadapter"
[servers.n]
command = "${BUILT}/faultserver"
args = ["-fault", "grandchild,ignoreterm,eofignore"]
[servers.hello]
plugin = "hello"
`)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(opt.Environ, victimEnv+"="+opt.ConfigFiles[0])
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		pid, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "pid "))
		if err != nil {
			t.Fatal(lines.Text())
		}
		pids = append(pids, pid)
	}
	pids = append(pids, below(pids)...)
	if len(pids) < 5 {
		t.Errorf("only %d processes: the tree is not what this test is about", len(pids))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, pid := range pids {
		waitGone(t, pid)
	}
}

// below are the processes below pids, by /proc; none where there is no /proc.
func below(pids []int) []int {
	var all []int
	for todo := pids; len(todo) > 0; todo = todo[1:] {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", todo[0]))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					all = append(all, pid)
					todo = append(todo, pid)
				}
			}
		}
	}
	return all
}

// waitGone waits until the process is no more.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for ctx := patient(t); alive(pid); {
		if ctx.Err() != nil {
			t.Fatalf("process %d is still there", pid)
		}
		time.Sleep(10 * time.Millisecond) // there is no event for the end of a process that is not our child
	}
}
