// Package adaptertest runs a plugin in its own tests as a host runs it: the program
// is built, started as a process and spoken to by the contract. It knows no plugin in
// particular, and judges none.
package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// deadline bounds every step. It is generous: reaching it is always a failure.
const deadline = 2 * time.Minute

// Main is the whole of a TestMain: it builds the program of the working directory,
// has its path written to path, runs the tests and ends the process.
func Main(m *testing.M, path *string) {
	code, err := run(m, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, path *string) (int, error) {
	dir, err := os.MkdirTemp("", "collet-plugin")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	*path = filepath.Join(dir, "collet-plugin-tested")
	if runtime.GOOS == "windows" {
		*path += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", *path, ".").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// Within is a context for one step of a test, of at most two minutes.
func Within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// Plugin is one process of a plugin, as a host has it. It is stopped with the test.
type Plugin struct {
	adapterpb.AdapterClient
	Process *launch.Process
}

// Start starts a plugin without configuring it. Spec needs a Path; the server is
// called n where it has no Name.
func Start(t testing.TB, spec launch.Spec) *Plugin {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "n"
	}
	p, err := launch.Start(Within(t), spec)
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
	return &Plugin{p.Adapter(), p}
}

// Settings gives the plugin its config, any value that is written as JSON. The error
// is a *failure.Failure where the plugin says why.
func (p *Plugin) Settings(t testing.TB, config any) error {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Configure(Within(t), &adapterpb.ConfigureRequest{Server: "n", Config: raw, HostVersion: "1.2.3"})
	return told(err)
}

// Call calls a tool and returns the MCP result as the plugin wrote it, and whether it
// is the tool's own failure. The error is a *failure.Failure where the plugin says why.
func (p *Plugin) Call(t testing.TB, tool, arguments string) (result []byte, isError bool, err error) {
	t.Helper()
	stream, err := p.CallTool(Within(t), &adapterpb.CallToolRequest{Tool: tool, Arguments: []byte(arguments), CallId: "c"})
	if err != nil {
		t.Fatal(err)
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return result, isError, nil
		}
		if err != nil {
			return nil, false, told(err)
		}
		if r := ev.GetResult(); r != nil {
			result, isError = r.GetResult(), r.GetIsError()
		}
	}
}

// told is the failure in err; err itself where there is none.
func told(err error) error {
	if err == nil {
		return nil
	}
	if f := failure.FromStatus(err); f != nil {
		return f
	}
	return err
}
