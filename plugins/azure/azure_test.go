package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/collet-dev/collet/plugins/azure/internal/fakelearn"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
)

// settled is the state of the server once it is no longer connecting.
func (p *plugin) settled(t *testing.T) *adapterpb.Health {
	t.Helper()
	stream, err := p.Watch(adaptertest.Within(t), &adapterpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		ev, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		h := ev.GetHealth()
		if s := ev.GetSnapshot(); s != nil {
			h = s.GetHealth()
		}
		if h.GetState() > adapterpb.Health_STATE_CONNECTING {
			return h
		}
	}
}

// TestWithoutTheAzureServer: what is missing is said in one line, and Learn's tools
// are there.
func TestWithoutTheAzureServer(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "azmcp")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npx"), []byte("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  config
		path string
		says string
	}{
		"a command that is not there": {config{Command: []string{nowhere}}, "", nowhere},
		"no npx":                      {config{}, "/nowhere", "not installed (no azmcp on the PATH), and there is no npx to get it with; npm install -g @azure/mcp@2.0.5"},
		"no network for npx":          {config{}, bin + ":/bin:/usr/bin", "npx could not get @azure/mcp@2.0.5 (ENOTFOUND); npm install -g"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.path != "" && runtime.GOOS == "windows" {
				t.Skip("the stand-in for npx is a shell script")
			}
			fake := fakelearn.Start(t)
			env := []string{}
			if c.path != "" {
				env = append(env, "PATH="+c.path)
			}
			p := start(t, env...)
			c.cfg.LearnURL = fake.URL
			if err := p.configure(t, c.cfg); err != nil {
				t.Fatal(err)
			}
			h := p.settled(t)
			message := h.GetFailure().GetMessage()
			if h.GetState() != adapterpb.Health_STATE_DEGRADED || !strings.HasPrefix(message, "the Azure MCP server: ") || !strings.Contains(message, c.says) || strings.Contains(message, "\n") {
				t.Errorf("%s: %q", h.GetState(), message)
			}
			if list := p.tools(t); len(list) != 4 {
				t.Errorf("%d tools", len(list))
			}
			if got, err := p.call(t, "documentation", `{"query":"q"}`); err != nil || !got.Get("structuredContent.available").Bool() {
				t.Errorf("documentation: %s, %v", got.Raw, err)
			}
			_, err := p.call(t, "storage", `{"intent":"x"}`)
			if f := failure.Classify(err); f == nil || f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent {
				t.Errorf("storage: %v", err)
			}
		})
	}
}

// TestWithoutLearn: with Learn out of reach the real Azure server serves, documentation
// says that it is not available, and the server what it is missing.
func TestWithoutLearn(t *testing.T) {
	t.Parallel()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", "..", ".cache", "npm")
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", "@azure", "mcp", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil && !must {
		t.Skipf("no Azure MCP server from npm, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_NPM_DIR names no Azure MCP server: %v", err)
	}
	p := start(t)
	if err := p.configure(t, config{LearnURL: "http://127.0.0.1:1/api/mcp", Command: []string{path}, Credential: "AzureCliCredential", Namespaces: []string{"storage", "get_azure_bestpractices"}}); err != nil {
		t.Fatal(err)
	}
	h := p.settled(t)
	if m := h.GetFailure().GetMessage(); h.GetState() != adapterpb.Health_STATE_DEGRADED || !strings.HasPrefix(m, "Microsoft Learn: ") || strings.Contains(m, ";") {
		t.Errorf("%s: %q", h.GetState(), m)
	}
	list := p.tools(t)
	for _, name := range []string{"documentation", "storage", "get_azure_bestpractices", "subscription_list"} {
		if tool := list[name]; tool == nil || !tool.GetReadOnly() || !tool.GetIdempotent() {
			t.Errorf("%s: %v", name, tool)
		}
	}
	if len(list) != 6 {
		t.Errorf("%d tools", len(list))
	}
	if got, err := p.call(t, "documentation", `{"query":"q"}`); err != nil || got.Get("structuredContent.available").Bool() || got.Get("structuredContent.reason").Str == "" {
		t.Errorf("documentation: %s, %v", got.Raw, err)
	}
	got, err := p.call(t, "get_azure_bestpractices", `{"intent":"x","command":"get_azure_bestpractices_get","parameters":{"resource":"general","action":"all"}}`)
	if err != nil || got.Get("structuredContent.status").Int() != 200 || !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("best practices: %.300s, %v", got.Raw, err)
	}
	_, err = p.call(t, "storage", `{"intent":"x","command":"storage_account_create"}`)
	if f := failure.Classify(err); f == nil || f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent {
		t.Errorf("a command that writes: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for path, cfg := range map[string]config{
		"/learn_url":  {LearnURL: "learn.microsoft.com"},
		"/credential": {Credential: "AzureCLI"},
		"/namespaces": {Namespaces: []string{"blobs"}},
	} {
		f := failure.Classify(start(t).configure(t, cfg))
		if f == nil || f.Class != failure.InvalidArguments || len(f.Problems) != 1 || f.Problems[0].Path != path {
			t.Errorf("%s: %+v", path, f)
		}
	}
}
