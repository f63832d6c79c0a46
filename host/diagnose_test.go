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
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// diagnose opens a host, diagnoses it and closes it. The function it returns puts
// words in place of the test's directories.
func diagnose(t *testing.T, opt host.Options, q host.DiagnoseQuery) (*host.Diagnosis, func(string) string) {
	t.Helper()
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error("close:", err)
		}
	}()
	d, err := h.Diagnose(patient(t), q)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer(built, "BUILT", opt.ConfigFiles[0], "FILE", filepath.Dir(opt.ConfigFiles[0]), "DIR")
	return d, short.Replace
}

// told is a finding on one line: kind check (place) message -> advice.
func told(f host.Finding) string {
	place := fmt.Sprintf("%d", f.Line)
	if f.Key != "" {
		place += " " + f.Key
	}
	return fmt.Sprintf("%s %s (%s) %s -> %s", f.Kind, f.Check, place, f.Message, f.Advice)
}

func toldAll(findings []host.Finding, short func(string) string) []string {
	var out []string
	for _, f := range findings {
		out = append(out, short(told(f)))
	}
	return out
}

// Every way in which a server is broken is told with its place and what to do.
func TestDiagnoseBrokenServers(t *testing.T) {
	for _, c := range []struct {
		name, body string
		state      string
		want       []string
	}{
		{"sound", `plugin = "hello"`, "ready", nil},
		{"disabled", "plugin = \"hello\"\nenabled = false", "disabled", nil},
		{"broken entry", "command = 7\ntiemout = \"3s\"", "misconfigured", []string{
			`configuration config (2 servers.x.command) must be a string, not an integer; put it in quotes -> correct servers.x.command, or remove the entry`,
			`configuration config (3 servers.x.tiemout) unknown key; did you mean timeout? -> correct servers.x.tiemout, or remove the entry`,
		}},
		{"variables", "plugin = \"hello\"\nconfig = { greeting = \"${ONE_UNSET}\" }\nenv = { A = \"${OTHER_UNSET}${ONE_UNSET}\" }", "failed", []string{
			`configuration value (4 servers.x.env.A) OTHER_UNSET is not set -> set OTHER_UNSET, or enabled = false`,
			`configuration value (4 servers.x.env.A) ONE_UNSET is not set -> set ONE_UNSET, or enabled = false`,
		}},
		{"value that is none", "plugin = \"hello\"\nconfig = { greeting = \"${\" }", "failed", []string{
			`configuration value (1) FILE:3, servers.x.config.greeting: holds a ${ that is not a variable: write ${NAME} or ${NAME:-default}, and $$ for a dollar sign -> correct FILE:1, or set enabled = false`,
		}},
		{"value command", "plugin = \"hello\"\nconfig = { greeting = \"!exit 3\" }", "failed", []string{
			`configuration settings (1) FILE:3, servers.x.config.greeting: its command failed: exit status 3 -> correct FILE:1, or set enabled = false`,
		}},
		{"settings", "plugin = \"hello\"\nconfig = { greeting = 7, greting = \"x\" }", "failed", []string{
			`configuration settings (1) its settings do not fit the plugin: /greeting must be a string, is a number, /greting property "greting" is not known; did you mean "greeting"? -> correct FILE:1; 'BUILT/collet-plugin-hello describe' shows the settings there are`,
		}},
		{"plugin's path has a variable", `plugin = "./${NO_DIR}/x"`, "failed", []string{
			`configuration value (2 servers.x.plugin) NO_DIR is not set -> set NO_DIR, or enabled = false`,
		}},
		{"no plugin", `plugin = "./helo"`, "failed", []string{
			`unreachable plugin (1) the plugin DIR/helo cannot be used: no such file -> install it, or name its directory in host.plugin_dirs`,
		}},
		{"no plugin at all", `plugin = "./mcp.toml"`, "failed", []string{
			`unreachable plugin (1) the plugin FILE cannot be used: it is not executable; run chmod +x on it -> install it, or name its directory in host.plugin_dirs`,
		}},
		{"describe fails", `plugin = "./sh"`, "failed", []string{
			`unreachable plugin (1) DIR/sh describe failed (exit status 127) -> install the plugin again, or see what 'DIR/sh describe' prints`,
		}},
		{"plugin exits", "plugin = \"testadapter\"\nenv = { FAULT = \"stderr=NEEDS A KEY,exit=3\" }", "failed", []string{
			"unreachable start (1) BUILT/collet-plugin-testadapter exited before it was ready (exit status 3); its stderr ends:\n  NEEDS A KEY -> its stderr may say why; 'collet servers logs x' has all of it",
		}},
		{"plugin is ill", "plugin = \"testadapter\"\nenv = { FAULT = \"unhealthy\" }", "failed", []string{
			`unreachable start (1) the adapter process says of its own health: NOT_SERVING -> its stderr may say why; 'collet servers logs x' has all of it`,
		}},
		{"start_timeout", "plugin = \"testadapter\"\nenv = { FAULT = \"configurehang\" }\nstart_timeout = \"1s\"", "failed", []string{
			`timeout start (1) not ready within its start_timeout of 1s; a package runner may still be downloading, so try again or raise start_timeout (FILE:1): no answer of the adapter yet -> raise start_timeout, or run it by hand to see what it waits for`,
		}},
		{"no command", `command = "no-such-command"`, "failed", []string{
			`unreachable command (1) no-such-command is not on the server's PATH -> install no-such-command, or give its whole path in FILE:1`,
		}},
		{"command's path", `command = "./bin/run"`, "failed", []string{
			`unreachable command (1) DIR/bin/run is not there -> correct command in FILE:1`,
		}},
		{"command is no program", `command = "./mcp.toml"`, "failed", []string{
			`unreachable command (1) FILE is not executable -> correct command in FILE:1`,
		}},
		{"script without its interpreter", `command = "./script"`, "failed", []string{
			`unreachable command (1) DIR/script is a script for no-such-interpreter, which is not on the server's PATH -> install no-such-interpreter, or give its whole path in FILE:1`,
		}},
		{"no directory", "command = \"${BUILT}/faultserver\"\ncwd = \"/no/such/dir\"", "failed", []string{
			`unreachable start (1) cannot start "BUILT/faultserver": its working directory /no/such/dir is not there; see cwd -> 'collet servers logs x' shows what it wrote`,
		}},
		{"upstream exits", faultserver("crash-init"), "failed", []string{
			`unreachable start (1) the server process ended: exit status 1; its last words on stderr: NASTY_API_KEY is not set -> its stderr may say why; 'collet servers logs x' has all of it`,
		}},
		{"upstream ends after its list", faultserver("crash-afterlist"), "degraded", []string{
			`unreachable health (1) the server process ended: exit status 0 -> 'collet servers logs x' shows what it wrote`,
		}},
		{"upstream's list is none", faultserver("nolist"), "failed", []string{
			`unreachable start (1) the server's answer to tools/list has no list of tools: "{\"tools\":{\"echo\":{}}}" -> what it answered is not MCP as collet knows it; see if there is a newer version of the server`,
		}},
		{"upstream never answers", faultserver("initnever,discover-silent"), "starting", []string{
			`timeout start (1) still starting -> wait longer with --wait; 'collet servers logs x' shows what it writes`,
		}},
		{"unknown tool in tool_exposure", "plugin = \"hello\"\ntool_exposure = { great = \"hidden\", \"x*\" = \"hidden\", greet = \"direct\" }", "ready", []string{
			`note tool-exposure (1) tool_exposure names tools that it does not have: great -> correct the names in FILE:1`,
		}},
		{"unchecked", faultserver("schema:lookahead"), "ready", []string{
			`note schemas (1) not validated: inputSchema of sch_lookahead: the pattern "^(?!bad).+$" at "/properties/q/pattern" uses what cannot be checked here (look-around, back-references and large repetitions cannot) -> the tools work; tell the server's author`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opt := options(t, "[servers.x]\n"+c.body+"\n")
			dir := filepath.Dir(opt.ConfigFiles[0])
			for name, text := range map[string]string{"sh": "#!/bin/sh\nexit 127\n", "script": "#!/usr/bin/env -S no-such-interpreter -x\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			wait := patience
			if c.state == "starting" {
				wait = time.Second
			}
			d, short := diagnose(t, opt, host.DiagnoseQuery{Wait: wait})
			if len(d.Servers) != 1 || len(d.Host.Findings) > 0 {
				t.Fatalf("%d servers, %v", len(d.Servers), d.Host.Findings)
			}
			s := d.Servers[0]
			got := toldAll(s.Findings, func(text string) string {
				before, _, cut := strings.Cut(text, " after ")
				if _, advice, _ := strings.Cut(text, " -> "); cut && strings.Contains(before, "still starting") {
					return before + " -> " + advice
				}
				return short(text)
			})
			if s.State != c.state || !slices.Equal(got, c.want) {
				t.Errorf("%s\n%s\nwant %s\n%s", s.State, strings.Join(got, "\n"), c.state, strings.Join(c.want, "\n"))
			}
			if wrong := d.Worst() != host.KindNote; wrong == (c.state == "ready" || c.state == "disabled") {
				t.Errorf("the worst is %s", d.Worst())
			}
		})
	}
}

// faultserver is an entry with these faults.
func faultserver(faults string) string {
	return "command = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"" + faults + "\"]"
}

// What is known of a server that works.
func TestDiagnoseWorkingServer(t *testing.T) {
	opt := options(t, "[servers.x]\n"+faultserver("modern,names")+"\nenv = { A = \"${WHO:-x}\", B = \"!echo b\" }\n")
	d, short := diagnose(t, opt, host.DiagnoseQuery{})
	s := d.Servers[0]
	if s.State != "ready" || s.Started <= 0 || !s.Listed || s.Tools < 50 || s.Worst() != host.KindNote {
		t.Errorf("%+v", s)
	}
	if p := s.Plugin; p.Name != "mcp" || short(p.Path) != "BUILT/collet-plugin-mcp" || p.Version == "" {
		t.Errorf("plugin %+v", p)
	}
	if c := s.Command; c == nil || short(c.Path) != "BUILT/faultserver" || c.Missing != "" {
		t.Errorf("command %+v", c)
	}
	if u := s.Upstream; u == nil || *u != (host.UpstreamDiagnosis{Name: "faultserver", Version: "1", ProtocolVersion: "2026-07-28", Era: "modern"}) {
		t.Errorf("upstream %+v", u)
	}
	values := fmt.Sprint(s.Values)
	if want := "[{servers.x.command 2 [{BUILT set}] false} {servers.x.env.A 4 [{WHO default}] false} {servers.x.env.B 4 [] true}]"; values != want {
		t.Errorf("values %s", values)
	}
	altered := map[string]string{}
	for _, w := range s.WireNames {
		altered[w.Tool] = w.WireName
	}
	if !strings.HasPrefix(altered["a.b"], "x__a_b_") {
		t.Errorf("wire names %v", altered)
	}
	if _, ok := altered["echo"]; ok {
		t.Error("echo is said to be altered")
	}
	if !slices.Contains(s.OddNames, "two words") || slices.Contains(s.OddNames, "a.b") {
		t.Errorf("odd names %q", s.OddNames)
	}
	if s.LogFile == "" || d.Host.SocketDir == "" || d.Host.StateDir != opt.StateDir {
		t.Errorf("%q %+v", s.LogFile, d.Host)
	}

	legacy, _ := diagnose(t, options(t, "[servers.x]\n"+faultserver("version-old")+"\n"), host.DiagnoseQuery{})
	if u := legacy.Servers[0].Upstream; u == nil || !u.ListChanged || u.Era != "legacy" || u.ProtocolVersion != "2024-11-05" {
		t.Errorf("%+v", u)
	}
	plugin, _ := diagnose(t, options(t, helloToml), host.DiagnoseQuery{})
	if s := plugin.Servers[0]; s.Command != nil || s.Upstream != nil && s.Upstream.Era != "" {
		t.Errorf("%+v %+v", s.Command, s.Upstream)
	}
}

// One server that hangs keeps nobody waiting, and the others are complete.
func TestDiagnoseIsBounded(t *testing.T) {
	opt := options(t, helloToml+`
[servers.never]
command = "${BUILT}/faultserver"
args = ["-fault", "initnever,discover-silent,eofignore,ignoreterm"]
[servers.stuck]
plugin = "testadapter"
env = { FAULT = "stderr=WAITING FOR A LICENCE,nohandshake" }
[servers.prompt]
plugin = "hello"
config = { greeting = "!exec sleep 60" }
`)
	const wait = 3 * time.Second
	begun := time.Now()
	d, _ := diagnose(t, opt, host.DiagnoseQuery{Wait: wait})
	if took := time.Since(begun); took > patience || d.Duration < wait {
		t.Errorf("took %s and %s", d.Duration, took)
	}
	for _, s := range d.Servers {
		want := host.KindTimeout
		if s.Name == "hello" {
			want = host.KindNote
		}
		if s.Worst() != want {
			t.Errorf("%s: %+v", s.Name, s.Findings)
		}
		if s.Name == "stuck" && !slices.Contains(s.StderrTail, "WAITING FOR A LICENCE") {
			t.Errorf("stderr %q", s.StderrTail)
		}
	}
	if d.Worst() != host.KindTimeout {
		t.Errorf("worst %s", d.Worst())
	}
}

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
		`note cache (0) mkdir FILE: not a directory: every command is slower than it has to be -> make FILE/cache writable, or set XDG_CACHE_HOME`,
		`note plugin-dirs (0 host.plugin_dirs) DIR/gone does not exist -> make it, or remove it from host.plugin_dirs`,
		`note plugin-dirs (0 host.plugin_dirs) FILE is no directory -> make it, or remove it from host.plugin_dirs`,
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

// A project's file that nobody trusted is told, and does nothing.
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
	if f := d.Host.Findings; len(d.Servers) != 0 || len(f) != 1 || f[0].Kind != host.KindNote || f[0].Check != "trust" || !strings.Contains(f[0].Message, "mcp.toml is not trusted") {
		t.Errorf("%+v", d)
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
