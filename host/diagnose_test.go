package host_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
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
			`configuration settings (1) its settings do not fit the plugin: /greeting: must be a string, is a number, /greting: property "greting" is not known; did you mean "greeting"? -> correct FILE:1; 'BUILT/collet-plugin-hello describe' shows the settings there are`,
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
			`unreachable start (1) BUILT/collet-plugin-testadapter cannot be used: it says of its own health: NOT_SERVING -> 'collet servers logs x' shows what it wrote`,
		}},
		{"start_timeout", "plugin = \"testadapter\"\nenv = { FAULT = \"configurehang\" }\nstart_timeout = \"1s\"", "failed", []string{
			`timeout start (1) not ready within its start_timeout of 1s; try again or raise start_timeout (FILE:1): no answer of the adapter yet -> raise start_timeout, or run it by hand to see what it waits for`,
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
			`degraded health (1) the server process ended: exit status 0 -> 'collet servers logs x' shows what it wrote`,
		}},
		{"upstream's list is none", faultserver("nolist"), "failed", []string{
			`unreachable start (1) the server's answer to tools/list has no list of tools: "{\"tools\":{\"echo\":{}}}" -> what it answered is not MCP as collet knows it; see if there is a newer version of the server`,
		}},
		{"upstream never answers", faultserver("initnever,discover-silent"), "starting", []string{
			`timeout start (1) still starting -> wait longer with --wait; 'collet servers logs x' shows what it writes`,
		}},
		{"unknown tool in tool_exposure", "plugin = \"hello\"\ntool_exposure = { great = \"hidden\", \"x*\" = \"hidden\", greet = \"direct\" }", "ready", []string{
			`note tool-exposure (1) tool_exposure names tools that it does not have: great -> correct the names in FILE:3`,
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

// Servers behind a url are told apart by what came back.
func TestDiagnoseRemoteServers(t *testing.T) {
	unauthorized := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer unauthorized.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>"))
	}))
	defer page.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	opt := options(t, `
[servers.auth]
url = "`+unauthorized.URL+`"
[servers.gone]
url = "`+gone.URL+`"
[servers.missing]
url = "`+missing.URL+`"
[servers.page]
url = "`+page.URL+`"
[servers.silent]
url = "http://`+silent.Addr().String()+`?key=canary-in-a-query"
start_timeout = "1s"
`)
	d, short := diagnose(t, opt, host.DiagnoseQuery{})
	for i, want := range []struct {
		name   string
		kind   host.Kind
		advice string
	}{
		{"auth", host.KindAuth, "collet auth login auth, or set its credential in headers (FILE:2)"},
		{"gone", host.KindUnreachable, "see if the server runs, and is reached by the url in FILE:4"},
		{"missing", host.KindUnreachable, "check the url in FILE:6: it has to be that of the MCP endpoint, which often ends in /mcp"},
		{"page", host.KindUnreachable, "check the url in FILE:8: it has to be that of the MCP endpoint, which often ends in /mcp"},
		{"silent", host.KindTimeout, "see if the server answers there, or raise start_timeout in FILE:10"},
	} {
		s := d.Servers[i]
		if s.Name != want.name || len(s.Findings) != 1 || s.Findings[0].Kind != want.kind || short(s.Findings[0].Advice) != want.advice || strings.Contains(fmt.Sprint(s), "canary") {
			t.Errorf("%s: %v", s.Name, toldAll(s.Findings, short))
		}
	}
	if d.Worst() != host.KindAuth {
		t.Errorf("worst %s", d.Worst())
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
