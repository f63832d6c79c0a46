package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// testWait is far beyond what anything here takes on a loaded machine: it turns
// a hang into a failure, and measures nothing.
const testWait = 30 * time.Second

// faulty is the path of the built testadapter.
var faulty string

func TestMain(m *testing.M) {
	if os.Getenv(smallHostEnv) != "" {
		smallHost()
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "launch")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		faulty = filepath.Join(dir, "testadapter")
		if runtime.GOOS == "windows" {
			faulty += ".exe"
		}
		build := exec.Command("go", "build", "-o", faulty, "github.com/collet-dev/collet/sdk/internal/testadapter")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building testadapter:", err)
			return 1
		}
		code := m.Run()
		if code == 0 {
			// The adapter that TestReattach serves inside this process leaves the
			// readers of its stdio pipes to the garbage collector.
			if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/hashicorp/go-plugin.copyChan")); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return code
	}())
}

// spec is how a test starts the faulty adapter.
func spec(fault string) Spec {
	return Spec{
		Path: faulty, Name: "test", StartTimeout: testWait,
		Env: append(ShortEnv(os.Environ()), "FAULT="+fault),
	}
}

// start starts the faulty adapter for the length of the test.
func start(t *testing.T, fault string) *Process {
	t.Helper()
	return startSpec(t, spec(fault))
}

func startSpec(t *testing.T, s Spec) *Process {
	t.Helper()
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		await(t, p)
	})
	return p
}

// await waits for the end of p.
func await(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(testWait):
		t.Fatal("the process has not ended")
	}
	return p.Exit()
}

// call calls a tool and returns the result.
func call(ctx context.Context, p *Process, tool, args string) (string, error) {
	stream, err := p.Adapter().CallTool(ctx, &adapterpb.CallToolRequest{Tool: tool, Arguments: []byte(args)})
	if err != nil {
		return "", err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return "", err
		}
		if result := event.GetResult(); result != nil {
			return string(result.GetResult()), nil
		}
	}
}

// callText calls a tool that returns one text.
func callText(t *testing.T, p *Process, tool, args string) string {
	t.Helper()
	result, err := call(t.Context(), p, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var parsed struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &parsed); err != nil || len(parsed.Content) != 1 {
		t.Fatalf("%s returned %.200s", tool, result)
	}
	return parsed.Content[0].Text
}

// log collects lines and lets a test wait for one.
type log struct {
	mu    sync.Mutex
	lines []string
	wake  chan struct{}
}

func newLog() *log { return &log{wake: make(chan struct{}, 1)} }

func (l *log) line(b []byte) {
	l.mu.Lock()
	l.lines = append(l.lines, string(b))
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// await returns the first line that begins with prefix.
func (l *log) await(t *testing.T, prefix string) string {
	t.Helper()
	deadline := time.After(testWait)
	for {
		for _, line := range l.all() {
			if strings.HasPrefix(line, prefix) {
				return line
			}
		}
		select {
		case <-l.wake:
		case <-deadline:
			t.Fatalf("no line begins with %q; lines: %q", prefix, l.all())
		}
	}
}
