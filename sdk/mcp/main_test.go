package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/collet-dev/collet/sdk/failure"
)

// binDir holds the peers' executables, built once.
var binDir string

func TestMain(m *testing.M) {
	// The test binary is also some of the peers.
	if peer, ok := peers[os.Getenv("MCP_TEST_PEER")]; ok {
		peer()
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binDir = dir
	for _, pkg := range []string{"internal/faultserver"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, filepath.Base(pkg)), "github.com/collet-dev/collet/sdk/"+pkg).CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		return 0, err
	}
	return code, nil
}

// self is the command of one of the peers in this binary.
func self(t testing.TB, peer string) Command {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: path, Env: append(os.Environ(), "MCP_TEST_PEER="+peer)}
}

// deadline is generous: reaching it is always a failure.
const deadline = 30 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// peer is a faultserver's command and what it logged.
type peer struct {
	cmd Command
	log string
}

func faulty(t *testing.T, args ...string) peer {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	return peer{
		cmd: Command{Path: filepath.Join(binDir, "faultserver"), Args: append([]string{"-log", log}, args...), Env: os.Environ()},
		log: log,
	}
}

type event struct {
	Event   string
	PID     int
	Message json.RawMessage
}

func (p peer) events(t *testing.T) []event {
	t.Helper()
	b, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	var events []event
	for l := range bytes.Lines(b) {
		var e event
		if err := json.Unmarshal(l, &e); err != nil {
			t.Fatalf("log line %q: %v", l, err)
		}
		events = append(events, e)
	}
	return events
}

// received returns the methods of the messages the peer got, in order.
func (p peer) received(t *testing.T) []string {
	t.Helper()
	var methods []string
	for _, e := range p.events(t) {
		if e.Event == "in" {
			m, _ := text(member(e.Message, "method"))
			methods = append(methods, m)
		}
	}
	return methods
}

func (p peer) count(t *testing.T, name string) int {
	t.Helper()
	n := 0
	for _, e := range p.events(t) {
		if e.Event == name {
			n++
		}
	}
	for _, m := range p.received(t) {
		if m == name {
			n++
		}
	}
	return n
}

// records collects log records.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func (r *records) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

// connectTo connects and closes at the end of the test.
func connectTo(t *testing.T, p peer, opt Options) *Client {
	t.Helper()
	if opt.StopGrace == 0 {
		opt.StopGrace = time.Second
	}
	c, err := Start(within(t), p.cmd, opt)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// connect starts a faultserver with faults.
func connect(t *testing.T, faults string, args ...string) *Client {
	t.Helper()
	return connectTo(t, faulty(t, append([]string{"-fault", faults}, args...)...), Options{})
}

func callTool(t *testing.T, c *Client, tool, args string) string {
	t.Helper()
	raw, err := c.CallTool(within(t), tool, json.RawMessage(args), RequestOptions{})
	if err != nil {
		t.Fatalf("CallTool(%s): %v", tool, err)
	}
	return string(raw)
}

// said is the text of a result's first block.
func said(t *testing.T, raw string) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(raw), &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("no content in %s (%v)", raw, err)
	}
	return r.Content[0].Text
}

func callFails(t *testing.T, c *Client, tool, args string) *failure.Failure {
	t.Helper()
	raw, err := c.CallTool(within(t), tool, json.RawMessage(args), RequestOptions{})
	if err == nil {
		t.Fatalf("CallTool(%s) = %s, want a failure", tool, raw)
	}
	return asFailure(t, err)
}

func asFailure(t *testing.T, err error) *failure.Failure {
	t.Helper()
	var f *failure.Failure
	if !errors.As(err, &f) {
		t.Fatalf("%v (%T) is no *failure.Failure", err, err)
	}
	return f
}

func wantFailure(t *testing.T, f *failure.Failure, class failure.Class, delivery failure.Delivery, parts ...string) {
	t.Helper()
	if f.Class != class || f.Delivery != delivery {
		t.Errorf("failure is %s, %s (%s); want %s, %s", f.Class, f.Delivery, f.Message, class, delivery)
	}
	for _, part := range parts {
		if !strings.Contains(f.Message, part) {
			t.Errorf("message %q lacks %q", f.Message, part)
		}
	}
}

// echoes shows that a connection works.
func echoes(t *testing.T, c *Client) {
	t.Helper()
	if got := said(t, callTool(t, c, "echo", `{"text":"hi"}`)); got != "hi" {
		t.Errorf("echo says %q, want hi", got)
	}
}

// processOf is the process of a client of Start.
func processOf(c *Client) *process { return c.link.(*stdio).process }
