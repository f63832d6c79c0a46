package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// program is the process of a script, as TestMain builds it: without the race
// detector, in which the engine would take minutes.
var program string

func TestMain(m *testing.M) { os.Exit(main(m)) }

func main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "codemode")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "process.exe")
	if out, err := exec.Command("go", "build", "-o", program, "./child/process").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the process of scripts: %v\n%s", err, out)
		return 1
	}
	if code := m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fakeHost has tools that a test gives it.
type fakeHost struct {
	servers []Server
	tools   map[string]func(ctx context.Context, c Call) (json.RawMessage, error)
	made    atomic.Int64
}

func (h *fakeHost) Servers(context.Context) []Server { return h.servers }

func (h *fakeHost) Call(ctx context.Context, c Call) (json.RawMessage, error) {
	h.made.Add(1)
	if f, ok := h.tools[c.Server+"/"+c.Tool]; ok {
		return f(ctx, c)
	}
	return nil, &ToolError{Code: CodeNotFound, Message: "there is no tool " + c.Server + "/" + c.Tool}
}

func (h *fakeHost) Search(_ context.Context, query, server string, limit int) (json.RawMessage, error) {
	return json.RawMessage(fmt.Sprintf(`[{"name":"t/echo","query":%q,"server":%q,"limit":%d}]`, query, server, limit)), nil
}

func (h *fakeHost) Describe(_ context.Context, tools []string) (string, error) {
	return "declare: " + strings.Join(tools, ","), nil
}

func (h *fakeHost) Server(_ context.Context, name string) (json.RawMessage, error) {
	return json.RawMessage(fmt.Sprintf(`{"name":%q,"tools":["echo"]}`, name)), nil
}

// value is an MCP result with that structured content.
func value(raw []byte) json.RawMessage {
	return json.RawMessage(`{"content":[],"structuredContent":` + string(raw) + `}`)
}

// newHost has a server "t" whose tools echo, wait, fail and break, and one whose names
// are no identifiers.
func newHost() *fakeHost {
	type tool = func(context.Context, Call) (json.RawMessage, error)
	h := &fakeHost{
		servers: []Server{
			{Name: "t", Identifier: "t", Tools: []Tool{{Name: "echo", Identifier: "echo"}, {Name: "wait", Identifier: "wait"},
				{Name: "fail", Identifier: "fail"}, {Name: "break", Identifier: "break"}, {Name: "result", Identifier: "result"}}},
			{Name: "my-server", Identifier: "my_server", Tools: []Tool{{Name: "read-file", Identifier: "read_file"}}},
			{Name: "late", Identifier: "late", Open: true},
		},
	}
	h.tools = map[string]tool{
		"t/echo": func(_ context.Context, c Call) (json.RawMessage, error) { return value(c.Arguments), nil },
		"t/wait": func(ctx context.Context, c Call) (json.RawMessage, error) {
			var a struct{ Ms int }
			if err := json.Unmarshal(c.Arguments, &a); err != nil {
				return nil, err
			}
			select {
			case <-time.After(time.Duration(a.Ms) * time.Millisecond):
				return value(c.Arguments), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		"t/fail": func(context.Context, Call) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"no such thing"}],"isError":true}`), nil
		},
		"t/break": func(context.Context, Call) (json.RawMessage, error) {
			return nil, &ToolError{Code: CodeDisconnected, Message: "the server crashed", Retryable: true, Details: json.RawMessage(`{"class":"connection-refused"}`)}
		},
		"t/result": func(_ context.Context, c Call) (json.RawMessage, error) {
			var a struct{ Result json.RawMessage }
			if err := json.Unmarshal(c.Arguments, &a); err != nil {
				return nil, err
			}
			return a.Result, nil
		},
		"my-server/read-file": func(_ context.Context, c Call) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"a file"}]}`), nil
		},
	}
	return h
}

// newRunner is a runner that ends with the test.
func newRunner(t testing.TB) *Runner {
	t.Helper()
	r := New(program)
	t.Cleanup(r.Close)
	return r
}

// run runs a script that must at least be run.
func run(t testing.TB, r *Runner, s Script, h Host) Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), s, h)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustReturn fails the test when the script does not return this JSON.
func mustReturn(t testing.TB, r *Runner, h Host, source, want string) Outcome {
	t.Helper()
	out := run(t, r, Script{Source: source}, h)
	if out.Status != Completed {
		t.Errorf("%s\nfailed: %+v", source, *out.Error)
	} else if string(out.Value) != want {
		t.Errorf("%s\nreturned %s, want %s", source, out.Value, want)
	}
	return out
}
