package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

// design is the example of a whole file.
const design = `[host]                                  # every key optional
log_level = "info"
exposure = "codemode"                   # default for servers that do not say
wire_names = "prefixed"                 # or "plain"
response_budget = "256KiB"
connect_wait = "10s"
plugin_dirs = ["~/collet/plugins"]

[servers.github]
plugin = "github"                       # collet-plugin-github; or a path
exposure = "codemode"
timeout = "60s"                         # one attempt; progress notifications restart it
config = { token = "${GITHUB_TOKEN}", toolsets = ["repos", "issues"] }
[servers.github.tool_exposure]          # exact name wins; among patterns the FIRST in file order wins
"get_me" = "direct"
"delete_*" = "hidden"

[servers.files]                         # no plugin key: the generic adapter
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "~/notes"]
env = { DEBUG = "1" }
cwd = "~"

[servers.docs]
url = "https://learn.microsoft.com/api/mcp"
headers = { "X-Team" = "$TEAM" }
`

func problems(c *Config) string {
	var b strings.Builder
	for _, p := range c.Problems {
		b.WriteString(p.Error() + "\n")
	}
	return b.String()
}

func serverNames(c *Config) string {
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func TestParseDesignExample(t *testing.T) {
	for _, text := range []string{design, strings.ReplaceAll(design, "\n", "\r\n"), "\ufeff" + design} {
		c := Parse("/etc/collet/mcp.toml", []byte(text))
		if len(c.Problems) > 0 {
			t.Fatal(problems(c))
		}
		wantHost := Host{LogLevel: "info", Exposure: exposure.Codemode, WireNames: "prefixed", ResponseBudget: 262144,
			ConnectWait: 10 * time.Second, Daemon: "off", DaemonIdle: 10 * time.Minute, PluginDirs: []string{"~/collet/plugins"}, Codemode: defaultCodemode(), Telemetry: Telemetry{Metrics: "off"}, said: c.Host.said}
		if !reflect.DeepEqual(c.Host, wantHost) {
			t.Errorf("host %+v, want %+v", c.Host, wantHost)
		}
		if got := serverNames(c); got != "github files docs" {
			t.Fatalf("servers %q", got)
		}
		base := Server{File: "/etc/collet/mcp.toml", Dir: "/etc/collet", Layer: Named, Enabled: true, InheritEnv: InheritEnv{All: true},
			Rules: exposure.Rules{Default: exposure.Codemode}, Retry: "safe", ValidateResults: "warn", OnChange: "warn"}
		github, files, docs := base, base, base
		github.Name, github.Line, github.Plugin, github.Timeout = "github", 9, "github", time.Minute
		github.Config = json.RawMessage(`{"token":"${GITHUB_TOKEN}","toolsets":["repos","issues"]}`)
		github.Rules.Tools = []exposure.Pattern{{Pattern: "get_me", Exposure: exposure.Direct}, {Pattern: "delete_*", Exposure: exposure.Hidden}}
		files.Name, files.Line, files.Command, files.Cwd = "files", 18, "npx", "~"
		files.Args = []string{"-y", "@modelcontextprotocol/server-filesystem", "~/notes"}
		files.Env = map[string]string{"DEBUG": "1"}
		docs.Name, docs.Line, docs.URL = "docs", 24, "https://learn.microsoft.com/api/mcp"
		docs.Headers = map[string]string{"X-Team": "$TEAM"}
		for i, want := range []Server{github, files, docs} {
			got := c.Servers[i]
			want.at, want.values, want.inherited = got.at, got.values, got.inherited
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("server\n%+v, want\n%+v", *got, want)
			}
		}
	}
}

func TestParseEveryKey(t *testing.T) {
	c := Parse("mcp.toml", []byte(`
[host]
log_level = "debug"
exposure = "codemode-deferred"
wire_names = "plain"
response_budget = "1 MiB"
connect_wait = "0s"
plugin_dirs = []
[servers.a]
disabled = true
plugin = "./bin/collet-plugin-a"
description = "d"
env = { A = "1" }
oauth = { resource = "https://r/", client_id = "x", scopes = ["a"] }
exposure = "deferred"
timeout = "1s"
max_timeout = "1h"
start_timeout = "5m"
idle_timeout = "10m"
max_concurrent = 4
retry = "never"
trust_hints = true
validate_results = "strict"
consent = "ask"
on_change = "block"
[servers.b]
enabled = false
plugin = "mcp"
command = "x"
args = []
inherit_env = ["A", "B"]
consent = { "b*" = "deny", a = "allow" }
[servers.c]
url = "http://localhost:1/mcp"
ca_file = "ca.pem"
[servers.d]
command = "x"
inherit_env = false
`))
	if len(c.Problems) > 0 {
		t.Fatal(problems(c))
	}
	h := c.Host
	if h.LogLevel != "debug" || h.Exposure != exposure.Codemode || h.WireNames != "plain" || h.ResponseBudget != 1<<20 || h.ConnectWait != 0 {
		t.Errorf("host %+v", h)
	}
	a := *c.Server("a")
	want := Server{Name: "a", File: "mcp.toml", Line: 9, Dir: a.Dir, Layer: Named, Plugin: "./bin/collet-plugin-a", Description: "d",
		Env: map[string]string{"A": "1"}, InheritEnv: InheritEnv{All: true}, OAuth: json.RawMessage(`{"resource":"https://r/","client_id":"x","scopes":["a"]}`),
		Rules: exposure.Rules{Default: exposure.Deferred}, Timeout: time.Second, MaxTimeout: time.Hour, StartTimeout: 5 * time.Minute,
		IdleTimeout: 10 * time.Minute, MaxConcurrent: 4, Retry: "never", TrustHints: true, ValidateResults: "strict", OnChange: "block",
		Consent: Consent{Default: "ask"}, at: a.at, values: a.values, inherited: a.inherited}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("a\n%+v, want\n%+v", a, want)
	}
	b := c.Server("b")
	if b.Enabled || b.Plugin != "" || !reflect.DeepEqual(b.InheritEnv, InheritEnv{Names: []string{"A", "B"}}) ||
		!reflect.DeepEqual(b.Consent.Tools, []ConsentRule{{"b*", "deny"}, {"a", "allow"}}) {
		t.Errorf("b %+v", b)
	}
	if d := c.Server("d"); !reflect.DeepEqual(d.InheritEnv, InheritEnv{}) {
		t.Errorf("d %+v", d)
	}
	if c.Server("c").CAFile != "ca.pem" || c.Server("nope") != nil {
		t.Error("c or nope")
	}
}

func TestSkippedFiles(t *testing.T) {
	utf16 := "\xff\xfe"
	for _, r := range "[servers.a]" {
		utf16 += string([]byte{byte(r), 0})
	}
	for _, c := range []struct {
		text         string
		want         string
		line, column int
	}{
		{"[servers.a]\ncommand = \n", "m:2:11: expected value but found '\\n' instead; the file is skipped", 2, 11},
		{"[servers.a]\ncommand='x'\n[servers.a]\n", "m:3:2: Key 'servers.a' has already been defined; the file is skipped", 3, 2},
		{"[servers.a]\r\ncommand='x'\r\ncommand='y'\r\n", "m:3:1: Key 'servers.a.command' has already been defined; the file is skipped", 3, 1},
		{"token = ghp_secret", `m:1:9: expected value but found "..." instead; the file is skipped`, 1, 9},
		{"n = 12__34", `m:1:5: Invalid integer "...": underscores must be surrounded by digits; the file is skipped`, 1, 5},
		{"a = \"b", `m:1:6: unexpected EOF; expected '"'; the file is skipped`, 1, 6},
		{"a = \"\xff\"", "m:1:5: invalid UTF-8 byte: 0xff; the file is skipped", 1, 5},
		{"\n\na = " + strings.Repeat("[", 100_000), "m:3:69: keys are nested too deep here, or too long; at most 64 levels and 1024 bytes; the file is skipped", 3, 69},
		{utf16, "m: is UTF-16 text; save it as UTF-8; the file is skipped", 0, 0},
		{utf16[2:], "m: is UTF-16 text; save it as UTF-8; the file is skipped", 0, 0},
		{"\xfe\xff\x00[", "m: is UTF-16 text; save it as UTF-8; the file is skipped", 0, 0},
		{"\x00[\x00a", "m: is UTF-16 text; save it as UTF-8; the file is skipped", 0, 0},
		{strings.Repeat("#", MaxFile+1), "m: is larger than 1 MiB, too large for an mcp.toml; the file is skipped", 0, 0},
	} {
		cfg := Parse("m", []byte(c.text))
		if got := strings.TrimSuffix(problems(cfg), "\n"); got != c.want {
			t.Errorf("%.40q:\n%s\nwant\n%s", c.text, got, c.want)
			continue
		}
		p := cfg.Problems[0]
		if p.Line != c.line || p.Column != c.column || p.Server != "" || p.Key != "" {
			t.Errorf("%.40q: %+v", c.text, p)
		}
		if len(cfg.Servers) > 0 || len(cfg.Files) != 1 {
			t.Errorf("%.40q: servers %q, files %q", c.text, serverNames(cfg), cfg.Files)
		}
	}
	if cfg := Parse("m", []byte(strings.Repeat("#", MaxFile))); len(cfg.Problems) > 0 {
		t.Error(problems(cfg))
	}
}

func TestReadNamed(t *testing.T) {
	dir := t.TempDir()
	write := func(file, text string) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("one.toml", "[host]\nlog_level='warn'\nexposure='direct'\n[servers.a]\ncommand='x'\n")
	broken := write("broken.toml", "[servers.b\n")
	two := write("two.toml", "[host]\nexposure='hidden'\n[servers.c]\ncommand='x'\n[servers.a]\ncommand='y'\n")
	large := write("large.toml", strings.Repeat("#", MaxFile+2))

	cfg := Merge(ReadNamed([]string{one, broken, two, large}))
	want := broken + ":1:11: expected '.' or ']' to end table name, but got '\\n' instead; the file is skipped\n" +
		two + ":5: servers.a: is already defined at " + one + ":4; remove one of them\n" +
		large + ": is larger than 1 MiB, too large for an mcp.toml; the file is skipped\n"
	if got := problems(cfg); got != want {
		t.Errorf("problems\n%swant\n%s", got, want)
	}
	if got := serverNames(cfg); got != "a c" || cfg.Server("a").Command != "x" || cfg.Server("a").Rules.Default != exposure.Hidden {
		t.Errorf("servers %q, a %+v", got, cfg.Server("a"))
	}
	if cfg.Host.LogLevel != "warn" || cfg.Host.Exposure != exposure.Hidden || len(cfg.Files) != 4 {
		t.Errorf("host %+v, files %q", cfg.Host, cfg.Files)
	}

	for _, file := range []string{filepath.Join(dir, "none.toml"), dir} {
		if named := ReadNamed([]string{one, file}); named[0].Err != nil || named[1].Err == nil || !strings.Contains(named[1].Err.Error(), file) {
			t.Errorf("%s: %v", file, named[1].Err)
		}
	}
	if cfg := Merge(ReadNamed(nil)); !reflect.DeepEqual(cfg.Host, defaultHost()) {
		t.Errorf("nothing is %+v", cfg.Host)
	}
}

func BenchmarkParse200Servers(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		const lines = "[servers.s#]\ncommand='npx'\nargs=['-y','x','~/n']\nenv={A='1',B='$X'}\ntimeout='30s'\n[servers.s#.tool_exposure]\n'a*'='direct'\n"
		text.WriteString(strings.ReplaceAll(lines, "#", strconv.Itoa(i)))
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if c := Parse("m", data); len(c.Servers) != 200 {
			b.Fatal(problems(c))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(design))
	f.Add([]byte("\xff\xfe[\x00"))
	f.Add([]byte("[host]\nexposure=1\n[servers.a]\ntimeout=30\nurl='http://h'\nheaders={A=1}\n[servers.A]\nconfig={a=[inf,1979-05-27 07:32:00]}"))
	f.Add([]byte("[servers.a]\nplugin='p'\nconfig={a=[{b=+1_0.5},'$X!','!x'],c=0xFF,d={}}\nenv={A='!x',B='${'}"))
	for _, text := range documents {
		f.Add([]byte("[servers.a]\nplugin='p'\n[servers.a.config]\n" + text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Parse("m", data)
		for _, p := range c.Problems {
			if p.Message == "" || p.File != "m" || p.Line < 0 || p.Key != "" && p.Line == 0 {
				t.Errorf("problem without a place or a message: %+v", p)
			}
		}
		for _, s := range c.Servers {
			if s.Config != nil && !json.Valid(s.Config) || s.OAuth != nil && !json.Valid(s.OAuth) {
				t.Errorf("not JSON: %q, %q", s.Config, s.OAuth)
			}
			if name.CheckServer(s.Name) != nil || s.Line == 0 || c.Server(s.Name) != s {
				t.Errorf("server %+v", s)
			}
			out, err := s.Resolve(t.Context(), testResolver())
			if err == nil && (s.Config != nil) != json.Valid(out.Config) {
				t.Errorf("%q resolves to %q", s.Config, out.Config)
			}
		}
	})
}
