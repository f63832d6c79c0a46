package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/plugins/github/internal/fakegithub"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
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
	adaptertest.Main(m, &pluginPath)
}

// fake is GitHub for one test.
func fake(t *testing.T) *fakegithub.Server {
	t.Helper()
	s := fakegithub.New()
	t.Cleanup(s.Close)
	return s
}

// plugin is one process of this plugin, as a host has it.
type plugin struct{ *adaptertest.Plugin }

// start starts the plugin in dir with an environment besides PATH, without configuring it.
func start(t *testing.T, dir string, env ...string) *plugin {
	t.Helper()
	env = append([]string{"PATH=" + filepath.Join(t.TempDir(), "no-gh"), "HOME=" + t.TempDir()}, env...)
	return &plugin{adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: env, Dir: dir})}
}

func (p *plugin) configure(t *testing.T, cfg config) error {
	t.Helper()
	return p.Settings(t, cfg)
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
	resp, err := p.ListTools(adaptertest.Within(t), &adapterpb.ListToolsRequest{})
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
	result, isError, err := p.Call(t, tool, args)
	return string(result), isError, err
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
