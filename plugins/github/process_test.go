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

	"github.com/collet-dev/collet/plugins/github/internal/fakegithub"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath is this plugin, built once.
var pluginPath string

func TestMain(m *testing.M) {
	if os.Getenv(asLocal) != "" {
		serveStdio()
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
	dir, err := os.MkdirTemp("", "collet-github")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	pluginPath = filepath.Join(dir, "collet-plugin-github")
	if runtime.GOOS == "windows" {
		pluginPath += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", pluginPath, ".").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the plugin: %w\n%s", err, out)
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

// fake is GitHub for one test.
func fake(t *testing.T) *fakegithub.Server {
	t.Helper()
	s := fakegithub.New()
	t.Cleanup(s.Close)
	return s
}

// plugin is one process of this plugin, as a host has it.
type plugin struct {
	*launch.Process
	adapterpb.AdapterClient
}

// start starts the plugin in dir with an environment besides PATH, without configuring it.
func start(t *testing.T, dir string, env ...string) *plugin {
	t.Helper()
	env = append([]string{"PATH=" + filepath.Join(t.TempDir(), "no-gh"), "HOME=" + t.TempDir()}, env...)
	p, err := launch.Start(within(t), launch.Spec{Path: pluginPath, Name: "n", Env: env, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return &plugin{p, p.Adapter()}
}

func (p *plugin) configure(t *testing.T, cfg config) error {
	t.Helper()
	raw, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Configure(within(t), &adapterpb.ConfigureRequest{Server: "n", Config: raw, HostVersion: "1.2.3"}); err != nil {
		return failure.FromStatus(err)
	}
	return nil
}

// serve starts the plugin for one server, with a token in its environment.
func serve(t *testing.T, cfg config) *plugin {
	t.Helper()
	p := start(t, t.TempDir(), "GITHUB_TOKEN=ghp_fine")
	if err := p.configure(t, cfg); err != nil {
		t.Fatalf("Configure: %v", err)
	}
	return p
}

func (p *plugin) tools(t *testing.T) (map[string]*adapterpb.Tool, error) {
	t.Helper()
	resp, err := p.ListTools(within(t), &adapterpb.ListToolsRequest{})
	if err != nil {
		return nil, failure.FromStatus(err)
	}
	tools := map[string]*adapterpb.Tool{}
	for _, tool := range resp.GetTools() {
		tools[tool.GetName()] = tool
	}
	return tools, nil
}

// call returns the result and whether it is the tool's own failure.
func (p *plugin) call(t *testing.T, tool, args string) (string, bool, error) {
	t.Helper()
	stream, err := p.CallTool(within(t), &adapterpb.CallToolRequest{Tool: tool, Arguments: []byte(args), CallId: "c"})
	if err != nil {
		t.Fatal(err)
	}
	result, isError := "", false
	for {
		ev, err := stream.Recv()
		if err == io.EOF {
			return result, isError, nil
		}
		if err != nil {
			if f := failure.FromStatus(err); f != nil {
				return "", false, f
			}
			return "", false, err
		}
		if r := ev.GetResult(); r != nil {
			result, isError = string(r.GetResult()), r.GetIsError()
		}
	}
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
