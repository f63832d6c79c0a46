package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath and faultPath are this plugin and the misbehaving server of the
// SDK's tests, built once.
var pluginPath, faultPath string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "collet-mcp")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	build := func(pkg, name string) (string, error) {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		path := filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		return path, nil
	}
	if pluginPath, err = build(".", "collet-plugin-mcp"); err != nil {
		return 0, err
	}
	if faultPath, err = build("github.com/collet-dev/collet/sdk/internal/faultserver", "faultserver"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// deadline is generous: reaching it is always a failure.
const deadline = time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// plugin is one process of this plugin, as a host has it.
type plugin struct {
	*launch.Process
	adapterpb.AdapterClient
}

// startPlugin starts the plugin without configuring it.
func startPlugin(t *testing.T) *plugin {
	t.Helper()
	p := adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: launch.ShortEnv(os.Environ())})
	return &plugin{p.Process, p.AdapterClient}
}

func (p *plugin) configure(t *testing.T, cfg config) error {
	t.Helper()
	raw, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Configure(within(t), &adapterpb.ConfigureRequest{Server: "n", Config: raw, HostVersion: "1.2.3"})
	return err
}

// serve starts the plugin for one server.
func serve(t *testing.T, cfg config) *plugin {
	t.Helper()
	p := startPlugin(t)
	if err := p.configure(t, cfg); err != nil {
		t.Fatalf("Configure: %v", err)
	}
	return p
}

// faulty is the config of a faultserver that logs to the returned file.
func faulty(t *testing.T, args ...string) (config, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	return config{
		Command: faultPath, Args: append([]string{"-log", log}, args...),
		Env: map[string]string{"ONLY": "this"}, Cwd: t.TempDir(),
	}, log
}

func (p *plugin) tools(t *testing.T) map[string]string {
	t.Helper()
	resp, err := p.ListTools(within(t), &adapterpb.ListToolsRequest{})
	if err != nil {
		t.Fatalf("ListTools: %v", failure.FromStatus(err))
	}
	tools := map[string]string{}
	for _, tool := range resp.GetTools() {
		tools[tool.GetName()] = string(tool.GetDefinition())
	}
	return tools
}

// answer is what a call came to, and the progress on the way.
type answer struct {
	result   string
	isError  bool
	progress []*adapterpb.Progress
	input    *adapterpb.InputRequired
}

func (p *plugin) call(t *testing.T, tool, args string) (answer, error) {
	t.Helper()
	return p.do(t, &adapterpb.CallToolRequest{Tool: tool, Arguments: []byte(args), CallId: "c"})
}

func (p *plugin) do(t *testing.T, req *adapterpb.CallToolRequest) (answer, error) {
	t.Helper()
	stream, err := p.CallTool(within(t), req)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	for {
		ev, err := stream.Recv()
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			if f := failure.FromStatus(err); f != nil {
				return a, f
			}
			return a, err
		}
		switch ev := ev.GetEvent().(type) {
		case *adapterpb.CallToolEvent_Progress:
			a.progress = append(a.progress, ev.Progress)
		case *adapterpb.CallToolEvent_Result:
			a.result, a.isError = string(ev.Result.GetResult()), ev.Result.GetIsError()
		case *adapterpb.CallToolEvent_InputRequired:
			a.input = ev.InputRequired
		}
	}
}

func (p *plugin) mustCall(t *testing.T, tool, args string) answer {
	t.Helper()
	a, err := p.call(t, tool, args)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return a
}

// watch returns a function that waits for an event for which ok is true.
func (p *plugin) watch(t *testing.T) func(what string, ok func(*adapterpb.WatchEvent) bool) {
	t.Helper()
	stream, err := p.Watch(within(t), &adapterpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return func(what string, ok func(*adapterpb.WatchEvent) bool) {
		t.Helper()
		for {
			ev, err := stream.Recv()
			if err != nil {
				t.Fatalf("waiting for %s: %v", what, err)
			}
			if ok(ev) {
				return
			}
		}
	}
}

// inState waits in watch for a state, which a snapshot may hold as well.
func inState(state adapterpb.Health_State) (string, func(*adapterpb.WatchEvent) bool) {
	return state.String(), func(ev *adapterpb.WatchEvent) bool { return health(ev).GetState() == state }
}

func health(ev *adapterpb.WatchEvent) *adapterpb.Health {
	if s := ev.GetSnapshot(); s != nil {
		return s.GetHealth()
	}
	return ev.GetHealth()
}

func wantFailure(t *testing.T, err error, class failure.Class, delivery failure.Delivery) *failure.Failure {
	t.Helper()
	f, ok := err.(*failure.Failure)
	if !ok {
		t.Fatalf("error %v (%T), want a failure", err, err)
	}
	if f.Class != class || f.Delivery != delivery {
		t.Fatalf("failure %s, %s (%v), want %s, %s", f.Class, f.Delivery, f, class, delivery)
	}
	return f
}
