package main

import (
	"os"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath is this plugin, built once.
var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

// plugin is one process of this plugin, as a host has it.
type plugin struct{ *adaptertest.Plugin }

// start starts the plugin with these variables besides the usual ones, without
// configuring it.
func start(t *testing.T, env ...string) *plugin {
	t.Helper()
	return &plugin{adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: append(launch.ShortEnv(os.Environ()), env...)})}
}

func (p *plugin) configure(t *testing.T, cfg config) error {
	t.Helper()
	return p.Settings(t, cfg)
}

// call returns the result of a tool, or the failure.
func (p *plugin) call(t *testing.T, tool, args string) (gjson.Result, error) {
	t.Helper()
	result, _, err := p.Call(t, tool, args)
	return gjson.ParseBytes(result), err
}
