package config

import (
	"fmt"
	"strings"
	"testing"
)

// lines are settings as "KEY = VALUE  PLACE".
func lines(list []Setting) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s = %s  %s\n", s.Key, s.Value, s.Place)
	}
	return b.String()
}

func TestSettings(t *testing.T) {
	c := layered(`[host]
connect_wait = "2s"
exposure = "deferred"
telemetry.metrics = "both"
telemetry.audit = "~/audit.jsonl"
[servers.a]
plugin = "p"
disabled = true
retry = "never"
config.k = [1.0, "$X"]
config.t = { "a.b" = "!x", d = {} }
tool_exposure = { "z*" = "direct", a = "hidden" }
[servers.b]
command = "x"
inherit_env = ["A"]
`, `[host]
log_level = "debug"
[servers.a]
enabled = true
exposure = "direct"
[servers.b]
tool_exposure = { c = "direct" }
[servers.c]
url = "http://c"
`)
	if len(c.Problems) > 0 {
		t.Fatal(problems(c))
	}
	const want = `host.log_level = "debug"  /p/mcp.toml:2
host.exposure = "deferred"  /u/mcp.toml:3
host.wire_names = "prefixed"  
host.response_budget = "256KiB"  
host.connect_wait = "2s"  /u/mcp.toml:2
host.daemon = "off"  
host.daemon_idle = "10m"  
host.plugin_dirs = []  
host.codemode.timeout = "120s"  
host.codemode.max_timeout = "600s"  
host.codemode.cpu = "10s"  
host.codemode.heap = "64MiB"  
host.codemode.calls = 1000  
host.codemode.in_flight = 16  
host.codemode.output_tokens = 10000  
host.codemode.max_output_tokens = 50000  
host.telemetry.traces = false  
host.telemetry.metrics = "both"  /u/mcp.toml:4
host.telemetry.audit = "~/audit.jsonl"  /u/mcp.toml:5
host.telemetry.audit_arguments = false  
servers.a.enabled = true  /p/mcp.toml:4
servers.a.plugin = "p"  /u/mcp.toml:7
servers.a.config.k = [1.0,"$X"]  /u/mcp.toml:10
servers.a.config.t."a.b" = "!x"  /u/mcp.toml:11
servers.a.config.t.d = {}  /u/mcp.toml:11
servers.a.exposure = "direct"  /p/mcp.toml:5
servers.a.tool_exposure."z*" = "direct"  /u/mcp.toml:12
servers.a.tool_exposure.a = "hidden"  /u/mcp.toml:12
servers.a.retry = "never"  /u/mcp.toml:9
servers.a.trust_hints = false  
servers.a.validate_results = "warn"  
servers.a.on_change = "warn"  
servers.b.enabled = true  
servers.b.command = "x"  /u/mcp.toml:14
servers.b.inherit_env = ["A"]  /u/mcp.toml:15
servers.b.exposure = "deferred"  /u/mcp.toml:3
servers.b.tool_exposure.c = "direct"  /p/mcp.toml:7
servers.b.retry = "safe"  
servers.b.trust_hints = false  
servers.b.validate_results = "warn"  
servers.b.on_change = "warn"  
servers.c.enabled = true  
servers.c.url = "http://c"  /p/mcp.toml:9
servers.c.exposure = "deferred"  /u/mcp.toml:3
servers.c.retry = "safe"  
servers.c.trust_hints = false  
servers.c.validate_results = "warn"  
servers.c.on_change = "warn"  
`
	if got := lines(c.Settings()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, s := range c.Settings() {
		if server := s.Server(); server == "" != strings.HasPrefix(s.Key, "host.") || !strings.HasSuffix(s.Key, s.Name()) || s.Name() == s.Key {
			t.Errorf("%s: server %q, name %q", s.Key, server, s.Name())
		}
	}
}

// Nothing that may be a secret is left; "SECRET" marks what must go.
func TestConceal(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{`env = { A = "SECRET", B = "${TOKEN}", C = "$A$B", D = "x$TOKEN", E = "!echo SECRET", F = "!!SECRET", G = "", H = "$ecretSECRET", I = "${T:-SECRET}", J = "${T:-}$B", K = "${T:-${SECRET}}" }`,
			`A="(hidden)" B="${TOKEN}" C="$A$B" D="(hidden)" E="!(hidden)" F="(hidden)" G="(hidden)" H="(hidden)" I="${T:-(hidden)}" J="${T:-}$B" K="(hidden)"`},
		{`args = ["-y", "@modelcontextprotocol/server-filesystem", "~/notes", "--root=/a/b", "$DIR", "--port", "8080"]`,
			`["-y","@modelcontextprotocol/server-filesystem","~/notes","--root=/a/b","$DIR","--port","8080"]`},
		{`args = ["--token", "SECRET", "--api-key=SECRET", "-e", "FOO=SECRET", "--env=BAR=SECRET", "-H", "X: SECRET", "--header=Authorization: SECRET", "--password", "$PW", "x"]`,
			`["--token","(hidden)","--api-key=(hidden)","-e","FOO=(hidden)","--env=BAR=(hidden)","-H","(hidden)","--header=(hidden)","--password","$PW","x"]`},
		{`args = ["postgres://me:SECRET@db/x?sslmode=SECRET", "ghp_SECRETSECRETSECRET", "a1b2c3d4e5f6a7b8c9d0SECRET", "sk-SECRETSECRET", "--verbose", "--token", "--other", "x"]`,
			`["postgres://(hidden)@db/x?sslmode=(hidden)","(hidden)","(hidden)","(hidden)","--verbose","--token","--other","x"]`},
		{`args = ["-c", "curl -H 'Authorization: SECRET'", '--config={"apiKey":"SECRET"}', "hello world"]`, `["-c","(hidden)","(hidden)","hello world"]`},
	} {
		s := entry(t, "command='x'\n"+c.entry)
		leaves(t, &Config{Servers: []*Server{s}}, strings.Fields(c.entry)[0], c.want)
	}
	for _, c := range []struct{ url, want string }{
		{"https://mcp.example.com/mcp", "https://mcp.example.com/mcp"},
		{"https://me:SECRET@h/x", "https://(hidden)@h/x"},
		{"https://${USER}@h/x", "https://${USER}@h/x"},
		{"https://h/x?key=SECRET&t=$TOKEN&SECRET#SECRET", "https://h/x?key=(hidden)&t=$TOKEN&(hidden)#(hidden)"},
		{"https://h/s/a1b2c3d4e5f6SECRETa7b8/mcp", "https://h/s/(hidden)/mcp"},
		{"https://${HOST:-localhost}:${PORT:-8080}/mcp", "https://${HOST:-localhost}:${PORT:-8080}/mcp"},
		{"${URL:-https://me:SECRET@h}", "${URL:-https://(hidden)@h}"},
		{"$URL", "$URL"},
	} {
		s := entry(t, fmt.Sprintf("url=%q\nheaders = { A = 'Bearer $TOKEN', B = 'Bearer SECRET' }\noauth = { client_id = 'me', client_secret = 'SECRET', scopes = ['$S', 'b'], redirect_port = 7, issuer = 'https://h/?a=SECRET' }\n[servers.t]\nurl='http://h'\noauth = { token_command = 'SECRET' }\n[servers.u]\nurl='http://h'\noauth = { client_id = '$I', client_secret = '${file:~/x}' }", c.url))
		leaves(t, &Config{Servers: []*Server{s}}, "url", fmt.Sprintf("%q", c.want))
		leaves(t, &Config{Servers: []*Server{s}}, "headers", `A="Bearer $TOKEN" B="(hidden)"`)
		leaves(t, &Config{Servers: []*Server{s}}, "oauth", `client_id="me" client_secret="(hidden)" scopes=["$S","b"] redirect_port=7 issuer="https://h/?a=(hidden)"`)
	}
	s := entry(t, "plugin='p'\nconfig = { token = 'SECRET', pin = 1234, on = true, list = [{ k = 'SECRET' }, '${V}', '!SECRET'], d = 1979-05-27 }")
	leaves(t, &Config{Servers: []*Server{s}}, "config",
		`token="(hidden)" pin="(hidden)" on=true list=[{"k":"(hidden)"},"${V}","!(hidden)"] d="(hidden)"`)
}

// leaves checks what is left of the values below key, and that no secret is left anywhere.
func leaves(t *testing.T, c *Config, key, want string) {
	t.Helper()
	var got []string
	for _, s := range c.Settings() {
		shown := s.Conceal()
		if strings.Contains(string(shown.Value), "SECRET") {
			t.Errorf("%s shows %s", s.Key, shown.Value)
		}
		if shown.Hidden != (string(shown.Value) != string(s.Value)) {
			t.Errorf("%s: hidden %v", s.Key, shown.Hidden)
		}
		switch name := s.Name(); {
		case name == key:
			got = append(got, string(shown.Value))
		case strings.HasPrefix(name, key+"."):
			got = append(got, strings.TrimPrefix(name, key+".")+"="+string(shown.Value))
		}
	}
	if line := strings.Join(got, " "); line != want {
		t.Errorf("%s: %s\nwant %s", key, line, want)
	}
}
