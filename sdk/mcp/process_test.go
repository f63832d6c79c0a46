//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// The end of the server fails every open request at once and says why.
func TestServerEnds(t *testing.T) {
	for _, test := range []struct {
		faults, tool string
		parts        []string
	}{
		{"crash-call", "echo", []string{"exit status 2", "panic: nasty"}},
		{"crash-partial", "echo", []string{"exit status 2"}},
		{"closestdout", "echo", []string{"closed its standard output"}},
		{"", "x_exit", []string{"exit status 3", "exiting as told"}},
		{"grandchild", "x_exit", []string{"exit status 3", "exiting as told"}},
	} {
		t.Run(test.faults+test.tool, func(t *testing.T) {
			t.Parallel()
			c := connect(t, test.faults)
			hung := make(chan error, 1)
			go func() {
				_, err := c.CallTool(within(t), "t_hang", nil, RequestOptions{})
				hung <- err
			}()
			if test.tool == "x_exit" { // the others end at any call
				waitPending(t, c, 1)
			}
			_, err := c.CallTool(within(t), test.tool, nil, RequestOptions{})
			f := asFailure(t, err)
			if f.Delivery == failure.DeliveryUnknown {
				wantFailure(t, f, failure.ConnectionRefused, failure.DeliveryUnknown, test.parts...)
			} else { // the other call was quicker
				wantFailure(t, f, failure.ConnectionRefused, failure.NotSent, test.parts...)
			}
			if f := asFailure(t, <-hung); f.Class != failure.ConnectionRefused {
				t.Errorf("the other call failed with %s: %v", f.Class, f)
			}
			select {
			case <-c.Done():
			case <-within(t).Done():
				t.Fatal("Done was not closed")
			}
			wantFailure(t, asFailure(t, c.Err()), failure.ConnectionRefused, failure.DeliveryUnknown, test.parts...)
			wantFailure(t, callFails(t, c, "echo", "{}"), failure.ConnectionRefused, failure.NotSent, test.parts...)
		})
	}
}

// At the end, what was being written may have arrived and what waited did not.
func TestDeliveryAtTheEnd(t *testing.T) {
	c := connect(t, "stdinstop")
	if _, err := c.ListTools(within(t)); err != nil {
		t.Fatal(err)
	}
	blocked, waiting := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.CallTool(within(t), "echo", json.RawMessage(`{"text":"`+strings.Repeat("x", 4<<20)+`"}`), RequestOptions{})
		blocked <- err
	}()
	waitPending(t, c, 1)
	waitBegun(t, c)
	go func() {
		_, err := c.CallTool(within(t), "echo", nil, RequestOptions{})
		waiting <- err
	}()
	waitPending(t, c, 2)
	if err := syscall.Kill(processOf(c).cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, asFailure(t, <-blocked), failure.ConnectionRefused, failure.DeliveryUnknown, "signal: killed")
	wantFailure(t, asFailure(t, <-waiting), failure.ConnectionRefused, failure.NotSent, "signal: killed")
}

func TestKilled(t *testing.T) {
	c := connect(t, "")
	if err := syscall.Kill(processOf(c).cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	wantFailure(t, asFailure(t, c.Err()), failure.ConnectionRefused, failure.DeliveryUnknown, "signal: killed")
}

// The last words count, also without a newline and right before the exit.
func TestLastAnswer(t *testing.T) {
	for range 50 {
		c := connect(t, "")
		if got := said(t, callTool(t, c, "w_nonewline", "{}")); got != "last words" {
			t.Fatalf("text is %q", got)
		}
		if err := c.Close(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		c := connect(t, "crash-afterlist")
		if tools, err := c.ListTools(within(t)); err != nil || len(tools) < 50 {
			t.Fatalf("ListTools = %d tools, %v", len(tools), err)
		}
	}
}

func TestStderr(t *testing.T) {
	var (
		mu    sync.Mutex
		bytes int
	)
	opt := Options{OnStderr: func(l []byte) {
		mu.Lock()
		defer mu.Unlock()
		bytes += len(l) + 1
	}}
	c := connectTo(t, faulty(t, "-fault", "stderrflood", "-size", "8000000"), opt)
	callTool(t, c, "w_stderrflood", "{}")
	tail := c.Tail()
	if len(tail) != tailLines || tail[len(tail)-1] != strings.Repeat("f", 999) {
		t.Errorf("tail has %d lines, the last %q", len(tail), tail[len(tail)-1])
	}
	if err := c.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if bytes != 16000000 {
		t.Errorf("OnStderr saw %d bytes, want 16000000", bytes)
	}
}

// Close ends whatever the server does, and leaves nothing of its group.
func TestClose(t *testing.T) {
	for _, test := range []struct {
		faults string
		term   bool
	}{
		{"", false},
		{"eofignore", false},
		{"ignoreterm", true},
		{"grandchild", false},
		{"stdinstop", false},
	} {
		t.Run(test.faults, func(t *testing.T) {
			t.Parallel()
			p := faulty(t, "-fault", test.faults)
			c := connectTo(t, p, Options{StopGrace: 100 * time.Millisecond})
			group := processOf(c).cmd.Process.Pid
			if _, err := c.ListTools(within(t)); err != nil {
				t.Fatal(err)
			}
			open := make(chan error, 1)
			go func() {
				_, err := c.CallTool(context.Background(), "t_hang", nil, RequestOptions{})
				open <- err
			}()
			waitPending(t, c, 1)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if err := c.Close(within(t)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			f := asFailure(t, <-open)
			if f.Class != failure.ConnectionRefused || !strings.Contains(f.Message, "was closed") {
				t.Errorf("the open call failed with %s: %v", f.Class, f)
			}
			if err := syscall.Kill(-group, 0); !errors.Is(err, syscall.ESRCH) && !onlyZombies(t, group) {
				t.Errorf("something of the group is left: %v", err)
			}
			if got := p.count(t, "term") > 0; got != test.term {
				t.Errorf("SIGTERM seen: %v, want %v", got, test.term)
			}
			wantFailure(t, callFails(t, c, "echo", "{}"), failure.ConnectionRefused, failure.NotSent, "closed")
		})
	}
}

// onlyZombies says whether what is left of a group has ended and waits for an
// init that does not reap.
func onlyZombies(t *testing.T, group int) bool {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			return false
		}
	}
	return true
}

// With no time left a close skips the graces.
func TestCloseInAHurry(t *testing.T) {
	c := connectTo(t, faulty(t, "-fault", "ignoreterm"), Options{StopGrace: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Nothing is left after a start that failed.
func TestFailedStartLeavesNothing(t *testing.T) {
	p := faulty(t, "-fault", "initnever,ignoreterm")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, p.cmd, Options{StopGrace: time.Hour}); err == nil {
		t.Fatal("Start succeeded")
	}
	for _, e := range p.events(t) {
		if e.Event == "start" && syscall.Kill(e.PID, 0) == nil {
			t.Errorf("process %d is left", e.PID)
		}
	}
}

func TestEnvironmentIsTheOneGiven(t *testing.T) {
	t.Setenv("MCP_TEST_INHERITED", "yes")
	p := faulty(t)
	p.cmd.Env = []string{"A=", "B=x"}
	p.cmd.Dir = t.TempDir()
	got := said(t, callTool(t, connectTo(t, p, Options{}), "x_env", `{"names":["A","B","PATH","MCP_TEST_INHERITED"]}`))
	var env map[string]*string
	if err := json.Unmarshal([]byte(got), &env); err != nil {
		t.Fatal(err)
	}
	var unset []string
	for k, v := range env {
		if v == nil {
			unset = append(unset, k)
		}
	}
	slices.Sort(unset)
	if !slices.Equal(unset, []string{"MCP_TEST_INHERITED", "PATH"}) || *env["A"] != "" || *env["B"] != "x" {
		t.Errorf("environment: %s", got)
	}
}

// What a program that is no MCP server does first is what its failure tells.
func TestProgramsThatAreNoServers(t *testing.T) {
	for script, parts := range map[string][]string{
		"cat":                              {"sends back what it is sent", "no MCP server"},
		"echo Listening on 3000; sleep 60": {"did not finish its handshake in time; it printed only output that is no MCP", `"Listening on 3000"`},
		"echo usage: x; echo; exit 3":      {"exit status 3", `it printed only output that is no MCP, first "usage: x"`},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(within(t), 3*time.Second)
			defer cancel()
			_, err := Start(ctx, Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ()}, Options{ProbeTimeout: 200 * time.Millisecond})
			f := asFailure(t, err)
			for _, part := range parts {
				if !strings.Contains(f.Message, part) {
					t.Errorf("%v %q lacks %q", f.Class, f.Message, part)
				}
			}
			if f.Class == failure.Timeout && strings.Contains(f.Message, "downloading") {
				t.Errorf("%q", f.Message)
			}
		})
	}
}
