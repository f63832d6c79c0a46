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

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath is this plugin, built once.
var pluginPath string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "collet-azure")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	pluginPath = filepath.Join(dir, "collet-plugin-azure")
	if runtime.GOOS == "windows" {
		pluginPath += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", pluginPath, ".").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// deadline is generous: reaching it is always a failure.
const deadline = 2 * time.Minute

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

// start starts the plugin without configuring it.
func start(t *testing.T) *plugin {
	t.Helper()
	p, err := launch.Start(within(t), launch.Spec{Path: pluginPath, Name: "n", Env: launch.ShortEnv(os.Environ())})
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
	_, err = p.Configure(within(t), &adapterpb.ConfigureRequest{Server: "n", Config: raw, HostVersion: "1.2.3"})
	return err
}

// call returns the result of a tool, or the failure.
func (p *plugin) call(t *testing.T, tool, args string) (gjson.Result, error) {
	t.Helper()
	stream, err := p.CallTool(within(t), &adapterpb.CallToolRequest{Tool: tool, Arguments: []byte(args), CallId: "c"})
	if err != nil {
		t.Fatal(err)
	}
	var result gjson.Result
	for {
		ev, err := stream.Recv()
		if err == io.EOF {
			return result, nil
		}
		if err != nil {
			if f := failure.FromStatus(err); f != nil {
				return result, f
			}
			return result, err
		}
		if r := ev.GetResult(); r != nil {
			result = gjson.ParseBytes(r.GetResult())
		}
	}
}
