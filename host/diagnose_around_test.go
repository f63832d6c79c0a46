package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

func TestDiagnoseNames(t *testing.T) {
	h, err := host.Open(t.Context(), options(t, threeToml))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, c := range []struct {
		ask  []string
		want string
	}{
		{nil, "bad hello help off"},
		{[]string{"off"}, "off"},
		{[]string{"hel*", "hello", "bad"}, "bad hello help"},
	} {
		d, err := h.Diagnose(patient(t), host.DiagnoseQuery{Servers: c.ask})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range d.Servers {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v", c.ask, got)
		}
	}
	_, err = h.Diagnose(patient(t), host.DiagnoseQuery{Servers: []string{"hello", "helo"}})
	var f *host.Failure
	if !errors.As(err, &f) || f.Class != failure.NotFound || !strings.Contains(f.Error(), "did you mean hello") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Diagnose(ctx, host.DiagnoseQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// What runs already was not started by it.
	d, err := h.Diagnose(patient(t), host.DiagnoseQuery{Servers: []string{"hello"}})
	if err != nil || d.Servers[0].Started != 0 || d.Servers[0].State != "ready" {
		t.Errorf("%+v %v", d, err)
	}
}

// Without prefixes a tool whose name another one claims is lost to model clients.
func TestDiagnosePlainWireNames(t *testing.T) {
	opt := options(t, "[host]\nwire_names = \"plain\"\n[servers.a]\nplugin = \"testadapter\"\n[servers.b]\nplugin = \"testadapter\"\n[servers.hello]\nplugin = \"hello\"\n")
	d, _ := diagnose(t, opt, host.DiagnoseQuery{})
	for _, s := range d.Servers {
		if lost := s.Worst() == host.KindConfiguration; lost != (s.Name != "hello") || lost && (len(s.Findings) != 1 || s.Findings[0].Check != "wire-names") {
			t.Errorf("%s: %+v", s.Name, s.Findings)
		}
	}
}

func TestDiagnoseSurroundings(t *testing.T) {
	opt := options(t, "[host]\nexposure = \"nowhere\"\nplugin_dirs = [\"gone\", \"mcp.toml\", \".\"]\n")
	dir := filepath.Dir(opt.ConfigFiles[0])
	opt.StateDir, opt.CacheDir = opt.ConfigFiles[0], filepath.Join(opt.ConfigFiles[0], "cache") // a file, and below one
	d, short := diagnose(t, opt, host.DiagnoseQuery{})
	got := toldAll(d.Host.Findings, short)
	want := []string{
		`configuration config (2 host.exposure) `,
		`note state (0) mkdir FILE: not a directory: what servers write to stderr is not kept -> make FILE writable, or set XDG_STATE_HOME`,
		`note cache (0) mkdir FILE: not a directory: plugins that are not beside collet cannot start, and every command is slower than necessary -> make FILE/cache writable, or set XDG_CACHE_HOME`,
		`note plugin-dirs (0 host.plugin_dirs) DIR/gone does not exist -> create it, or remove it from host.plugin_dirs`,
		`note plugin-dirs (0 host.plugin_dirs) FILE is no directory -> create it, or remove it from host.plugin_dirs`,
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d.Worst() != host.KindConfiguration || !slices.Equal(d.Host.PluginDirs, []string{filepath.Join(dir, "gone"), opt.ConfigFiles[0], dir}) {
		t.Errorf("%s %v", d.Worst(), d.Host.PluginDirs)
	}
	none, _ := diagnose(t, options(t, ""), host.DiagnoseQuery{})
	if f := none.Host.Findings; len(f) != 1 || f[0].Kind != host.KindNote || f[0].Message != "no servers are configured" {
		t.Errorf("%+v", f)
	}
}

// A project's file that nobody trusted is told, and does nothing. It is a note when
// there is another file.
func TestDiagnoseUntrustedProject(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.toml")
	if err := os.WriteFile(file, []byte(helloToml), 0o600); err != nil {
		t.Fatal(err)
	}
	found := host.Discover(host.Places{UserFile: filepath.Join(dir, "user.toml"), Dir: dir, StateDir: dir})
	opt := options(t, "")
	opt.ConfigFiles, opt.Layers = nil, found.Sources()
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	d, err := h.Diagnose(patient(t), host.DiagnoseQuery{Discovery: found})
	if err != nil {
		t.Fatal(err)
	}
	if f := d.Host.Findings; len(d.Servers) != 0 || len(f) != 1 || f[0].Kind != host.KindAuth || f[0].Check != "trust" || !strings.Contains(f[0].Message, "mcp.toml is not trusted") {
		t.Errorf("%+v", d)
	}
	if err := os.WriteFile(filepath.Join(dir, "user.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found = host.Discover(host.Places{UserFile: filepath.Join(dir, "user.toml"), Dir: dir, StateDir: dir})
	if d, err = h.Diagnose(patient(t), host.DiagnoseQuery{Discovery: found}); err != nil || d.Worst() != host.KindNote {
		t.Errorf("%+v %v", d, err)
	}
}

// A command that a version manager keeps out of PATH is found where it is.
func TestDiagnoseFindsCommandsElsewhere(t *testing.T) {
	opt := options(t, "[servers.x]\ncommand = \"runx\"\n[servers.y]\ncommand = \"${BUILT}/scripty\"\n")
	home := t.TempDir()
	volta, nvm := filepath.Join(home, ".volta", "bin"), filepath.Join(home, "nvm", "versions", "node", "v20.1.0", "bin")
	for path, text := range map[string]string{
		filepath.Join(volta, "other"):       "",
		filepath.Join(nvm, "runx"):          "#!/bin/sh\n",
		filepath.Join(volta, "node-absent"): "",
		filepath.Join(built, "scripty"):     "#!/usr/bin/env node-absent\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	opt.Environ = append(opt.Environ, "HOME="+home, "NVM_DIR="+filepath.Join(home, "nvm"))
	d, short := diagnose(t, opt, host.DiagnoseQuery{})
	for i, want := range []struct{ missing, in, problem string }{
		{"runx", nvm, "runx is not on the server's PATH"},
		{"node-absent", volta, "BUILT/scripty is a script for node-absent, which is not on the server's PATH"},
	} {
		s := d.Servers[i]
		c := s.Command
		if c.Missing != want.missing || c.FoundIn != want.in || !slices.Contains(c.Elsewhere, volta) || !slices.Contains(c.Elsewhere, nvm) || len(c.SearchPath) == 0 {
			t.Errorf("%+v", c)
		}
		if len(s.Findings) != 1 || short(s.Findings[0].Message) != want.problem || !strings.Contains(s.Findings[0].Advice, "'"+want.in+string(filepath.ListSeparator)+"${PATH}'") {
			t.Errorf("%+v", s.Findings)
		}
	}
}

// Whatever a server prints and however its start fails, no value is in a diagnosis.
func TestDiagnoseHoldsNoSecret(t *testing.T) {
	const canary = "canary"
	dir := t.TempDir()
	tell := filepath.Join(dir, "tell")
	if err := os.WriteFile(tell, []byte("#!/bin/sh\nenv >&2\necho \"$@\" >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	opt := options(t, `
[servers.tells]
command = "`+tell+`"
args = ["--key", "${ARG_VALUE}", "--api-key", "canary-in-an-argument", "--auth-token=canary-of-an-option"]
env = { A = "canary-literal-\"quoted\"", B = "${VALUE}", C = "!echo canary-command", D = "Bearer canary-bearer-word" }
[servers.plugin]
plugin = "testadapter"
env = { FAULT = "stderr=canary-of-a-plugin,exit=3", KEY = "canary-of-a-plugin" }
[servers.settings]
plugin = "hello"
config = { greeting = "fine", canary-key-is-no-value = "canary-of-the-config" }
[servers.missing]
plugin = "hello"
config = { greeting = "${GONE}", other = "canary-of-another" }
[servers.command]
command = "no-such-command"
env = { X = "canary-env" }
args = ["canary-arg"]
`)
	opt.Environ = append(opt.Environ, "VALUE=canary value of a variable", "ARG_VALUE=canary-argument", "SOME_API_TOKEN=canary-inherited")
	d, _ := diagnose(t, opt, host.DiagnoseQuery{})
	for _, s := range d.Servers {
		text := fmt.Sprintf("%+v %+v %+v", s, s.Command, s.Upstream)
		text = strings.ReplaceAll(text, "canary-key-is-no-value", "")
		if at := strings.Index(text, canary); at >= 0 {
			t.Errorf("%s tells %s", s.Name, text[max(0, at-100):min(len(text), at+100)])
		}
		if s.Worst() == host.KindNote {
			t.Errorf("%s works", s.Name)
		}
	}
	i := slices.IndexFunc(d.Servers, func(s host.ServerDiagnosis) bool { return s.Name == "tells" })
	if tail := strings.Join(d.Servers[i].StderrTail, "\n"); !strings.Contains(tail, "--key [$ARG_VALUE]") {
		t.Errorf("the tail says %s", tail)
	}
}
