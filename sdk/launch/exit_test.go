package launch

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// A process that ends in the middle of calls: its reason, its last words, and
// what running calls hear.
func TestCrash(t *testing.T) {
	for _, test := range []struct{ tool, reason, tail string }{
		{"exit", "exit status 7", "exiting on purpose"},
		{"kill", "signal: killed", "killing myself"},
		{"panic", "exit status 2", "panic: panicking on purpose"},
	} {
		t.Run(test.tool, func(t *testing.T) {
			l := newLog()
			s := spec("")
			s.OnStderr = l.line
			p := startSpec(t, s)
			hanging, err := p.Adapter().CallTool(t.Context(), &adapterpb.CallToolRequest{Tool: "hang"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := hanging.Recv(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err := call(t.Context(), p, test.tool, "{}"); status.Code(err) != codes.Unavailable {
				t.Errorf("the call that killed it: %v", err)
			}
			if _, err := hanging.Recv(); status.Code(err) != codes.Unavailable {
				t.Errorf("the call beside it: %v", err)
			}
			exit := await(t, p)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the end took %s", took)
			}
			if exit.Reason != test.reason || exit.Requested {
				t.Errorf("%+v", exit)
			}
			if !slices.Contains(exit.Tail, test.tail) {
				t.Errorf("the tail lacks %q: %q", test.tail, exit.Tail)
			}
			if !slices.Contains(l.all(), test.tail) {
				t.Errorf("OnStderr missed %q: %q", test.tail, l.all())
			}
			if err := p.Healthy(t.Context()); err == nil {
				t.Error("healthy after its end")
			}
		})
	}
}

// Grandchildren that hold stderr neither delay the end nor outlive it, unless
// they escaped into a session of their own.
func TestGrandchild(t *testing.T) {
	for _, fault := range []string{"grandchild", "grandchild=own", "escape"} {
		for _, end := range []string{"exit", "kill", "stop"} {
			t.Run(fault+"/"+end, func(t *testing.T) {
				l := newLog()
				s := spec(fault)
				s.OnStderr = l.line
				p := startSpec(t, s)
				pid, _ := strconv.Atoi(strings.Fields(l.await(t, "grandchild "))[1])
				if !alive(pid) {
					t.Fatal("there is no grandchild")
				}
				var left []string
				if fault == "escape" && runtime.GOOS == "linux" {
					left = []string{fmt.Sprintf("sleep (%d)", pid)}
				}
				if strays := Strays(p.Pid()); !slices.Equal(strays, left) {
					t.Errorf("strays: %v, and not %v", strays, left)
				}
				if end == "stop" {
					if err := p.Stop(t.Context()); err != nil {
						t.Error(err)
					}
				} else {
					_, _ = call(t.Context(), p, end, "{}")
				}
				exit := await(t, p)
				if want := map[string]string{"exit": "exiting on purpose", "kill": "killing myself", "stop": "closed"}[end]; exit.Tail[len(exit.Tail)-1] != want {
					t.Errorf("the tail does not end with %q: %q", want, exit.Tail)
				}
				if fault == "escape" {
					killPid(pid)
				} else if alive(pid) {
					t.Error("the grandchild lives")
				}
			})
		}
	}
}

// slowSink takes nothing until it is opened.
type slowSink struct {
	open <-chan struct{}
	log  *log
	lines
}

func (s *slowSink) write(chunk []byte) { <-s.open; s.lines.write(chunk) }

// What a process wrote before its end is read after it, although a descendant
// out of our reach holds the pipe open for ever.
func TestLastWordsAreKept(t *testing.T) {
	needProc(t)
	open := make(chan struct{})
	stderr := &slowSink{open: open, log: newLog()}
	stderr.lines.emit = stderr.log.line
	words := strings.Repeat("w", 40<<10)
	c, err := spawn(command(Spec{Path: faulty, Env: append(ShortEnv(os.Environ()), "FAULT=escape,stderr="+words+",exit=0")}), newHandshake(), stderr)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process is not reaped", func() bool { return state(c.cmd.Process.Pid) == 0 })
	close(open)
	select {
	case <-c.exited.Done():
	case <-time.After(testWait):
		t.Fatal("the end waits for the pipe")
	}
	got := stderr.log.all()
	pid, _ := strconv.Atoi(strings.TrimPrefix(got[0], "grandchild "))
	killPid(pid)
	if len(got) != 2 || got[1] != words {
		t.Errorf("%d lines, %d bytes in the last", len(got), len(got[len(got)-1]))
	}
}

func TestStopIsBounded(t *testing.T) {
	for _, test := range []struct {
		fault, tool, reason string
		grace               time.Duration
	}{
		{"noshutdown", "", "signal: killed", 300 * time.Millisecond},
		{"", "stop", "signal: killed", 300 * time.Millisecond}, // SIGSTOP
		{"", "hang", "exit status 0", testWait},                // a running call delays nothing
		{"slowclose=2500ms", "", "exit status 0", testWait},    // go-plugin's own two seconds do not count
	} {
		t.Run(test.fault+test.tool, func(t *testing.T) {
			s := spec(test.fault)
			s.StopGrace = test.grace
			p := startSpec(t, s)
			called := make(chan error, 1)
			if test.tool != "" {
				stream, err := p.Adapter().CallTool(t.Context(), &adapterpb.CallToolRequest{Tool: test.tool})
				if err != nil {
					t.Fatal(err)
				}
				if test.tool == "hang" {
					_, _ = stream.Recv()
				}
				go func() { _, err := stream.Recv(); called <- err }()
			} else {
				called <- status.Error(codes.Unavailable, "")
			}
			if test.tool == "stop" {
				awaitStopped(t, p.Pid())
			}
			began := time.Now()
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > test.grace+3*time.Second {
				t.Errorf("Stop took %s", took)
			}
			if exit := await(t, p); exit.Reason != test.reason || !exit.Requested {
				t.Errorf("%+v", exit)
			}
			if err := <-called; status.Code(err) != codes.Unavailable {
				t.Errorf("the running call: %v", err)
			}
		})
	}
}

func TestHealthy(t *testing.T) {
	p := start(t, "sickens")
	if err := p.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "NOT_SERVING") {
		t.Errorf("got %v", err)
	}
	p = start(t, "")
	if err := p.Healthy(t.Context()); err != nil {
		t.Errorf("a process that serves: %v", err)
	}
	ctx, cancel := timeout(t, 200*time.Millisecond)
	defer cancel()
	go func() { _, _ = call(t.Context(), p, "stop", "{}") }()
	awaitStopped(t, p.Pid())
	if err := p.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a stopped process: %v", err)
	}
	p.Kill()
	await(t, p)
}
