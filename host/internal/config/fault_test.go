package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

// serverFaults are faulty entries and what is said of each, in mcp.toml after two lines.
var serverFaults = []struct{ entry, want string }{
	// Unknown and misplaced keys.
	{"command='x'\ntimout='3s'", `mcp.toml:4: servers.bad.timout: unknown key; did you mean timeout?`},
	{"comand='x'", `mcp.toml:3: servers.bad.comand: unknown key; did you mean command?`},
	{"url='http://h'\ntype='http'", `mcp.toml:4: servers.bad.type: unknown key; known here: ` + strings.Join(names(serverKeys), ", ")},
	{"command='x'\n[servers.bad.env]\nA='1'\nenv_vars=['B']", `mcp.toml:6: servers.bad.env.env_vars: must be a string, not an array; put it in quotes`},
	{"command='x'\n\"a b\"=1", `mcp.toml:4: servers.bad."a b": unknown key; known here: ` + strings.Join(names(serverKeys), ", ")},
	// Wrong types.
	{"command=['x']", `mcp.toml:3: servers.bad.command: must be a string, not an array; put it in quotes`},
	{"command='x'\nargs='-y secret'", `mcp.toml:4: servers.bad.args: must be an array of strings, not a string; put it in brackets, one string per word: ["first", "second"]`},
	{"command='x'\nargs=['a',\n 1]", `mcp.toml:5: servers.bad.args[1]: must be a string, not an integer; put it in quotes`},
	{"command='x'\n[[servers.bad.args]]", `mcp.toml:4: servers.bad.args: must be an array of strings, not an array of tables; write ["first", "second"]`},
	{"command='x'\nenv='A=1'", `mcp.toml:4: servers.bad.env: must be a table of strings, not a string; write env = { NAME = "value" }`},
	{"command='x'\nenv={PORT=8080}", `mcp.toml:4: servers.bad.env.PORT: must be a string, not an integer; put it in quotes`},
	{"command='x'\nenv.DEBUG=true", `mcp.toml:4: servers.bad.env.DEBUG: must be a string, not a boolean; put it in quotes`},
	{"url='http://h'\nheaders={A=1.0}", `mcp.toml:4: servers.bad.headers.A: must be a string, not a float; put it in quotes`},
	{"command='x'\nenabled='true'", `mcp.toml:4: servers.bad.enabled: must be true or false, not a string; write the word without quotes`},
	{"command='x'\ntrust_hints=1", `mcp.toml:4: servers.bad.trust_hints: must be true or false, not an integer; write the word without quotes`},
	{"command='x'\ndescription=2026-01-01", `mcp.toml:4: servers.bad.description: must be a string, not a datetime; put it in quotes`},
	{"plugin='p'\nconfig='x'", `mcp.toml:4: servers.bad.config: must be a table, not a string; write [servers.bad.config] above its keys`},
	{"plugin='p'\noauth=false", `mcp.toml:4: servers.bad.oauth: must be a table, not a boolean; write [servers.bad.oauth] above its keys`},
	// The oauth table.
	{"url='http://h'\noauth={client='x'}", `mcp.toml:4: servers.bad.oauth.client: unknown key; did you mean client_id?`},
	{"url='http://h'\n[servers.bad.oauth]\nscopes='a b'", `mcp.toml:5: servers.bad.oauth.scopes: must be an array of strings, not a string; put it in brackets, one string per word: ["first", "second"]`},
	{"url='http://h'\noauth={redirect_port=70000}", `mcp.toml:4: servers.bad.oauth.redirect_port: 70000 is out of range; allowed are 1 to 65535`},
	{"url='http://h'\noauth={grant='password'}", `mcp.toml:4: servers.bad.oauth.grant: "password" is not allowed; write "authorization_code", "device_code", "client_credentials" or "command"`},
	{"url='http://h'\noauth={issuer='http://h'}", `mcp.toml:4: servers.bad.oauth.issuer: must be an https:// address, or http:// of this machine`},
	{"url='http://h'\noauth={client_id='x',client_metadata_url='http://localhost/x'}", `mcp.toml:4: servers.bad.oauth.client_metadata_url: must be an https:// address`},
	{"url='http://h'\noauth={client_secret='x'}", `mcp.toml:4: servers.bad.oauth.client_secret: belongs to a client_id; set that too`},
	{"url='http://h'\noauth={grant='client_credentials'}", `mcp.toml:4: servers.bad.oauth.grant: needs client_id and client_secret: a client that is registered at the authorization server`},
	{"url='http://h'\noauth={grant='command'}", `mcp.toml:4: servers.bad.oauth.grant: needs token_command, which says what to run`},
	{"url='http://h'\noauth={token_command='x',grant='device_code'}", `mcp.toml:4: servers.bad.oauth.grant: does not go with token_command, which is one; remove one of them`},
	{"url='http://h'\noauth={token_command='x',\nscopes=['a']}", `mcp.toml:5: servers.bad.oauth.scopes: does not go with token_command, which gets the token by its own means; remove it`},
	{"url='http://h'\noauth={grant='device_code',redirect_port=1}", `mcp.toml:4: servers.bad.oauth.redirect_port: goes with grant = "authorization_code", where a browser comes back; remove it`},
	{"url='http://h'\noauth={resource='https://h'}", `mcp.toml:4: servers.bad.oauth.resource: does not go with url, which tokens are for anyway; remove it`},
	{"command='x'\noauth={client_id='x'}", `mcp.toml:4: servers.bad.oauth: needs resource, the url of the service that tokens are for`},
	{"url='http://h'\nheaders={authorization='x'}\noauth={}", `mcp.toml:4: servers.bad.headers.authorization: does not go with oauth, which sets it; remove one of them`},
	{"command='x'\ninherit_env='no'", `mcp.toml:4: servers.bad.inherit_env: must be true, false or an array of names, not a string; write inherit_env = ["NAME"]`},
	{"command='x'\nretry=true", `mcp.toml:4: servers.bad.retry: must be "safe", "always" or "never", not a boolean; write one of these words in quotes`},
	{"command='x'\nmax_concurrent='2'", `mcp.toml:4: servers.bad.max_concurrent: must be an integer, not a string; write it as a whole number without quotes`},
	// Wrong values.
	{"command=''", `mcp.toml:3: servers.bad.command: must not be empty; give it a value or remove it`},
	{"url='localhost:80/mcp'", `mcp.toml:3: servers.bad.url: must be an address that begins with http:// or https:// and names a host`},
	{"command='x'\nenv={'A=B'='1'}", `mcp.toml:4: servers.bad.env."A=B": is not a variable's name; it may not be empty or hold =`},
	{"url='http://h'\nheaders={'X Y'='1'}", `mcp.toml:4: servers.bad.headers."X Y": is not a header's name; use letters, digits and -`},
	{"command='x'\nexposure='deffered'", `mcp.toml:4: servers.bad.exposure: "deffered" is no exposure; use direct, deferred, codemode or hidden`},
	{"command='x'\ntool_exposure={a='off'}", `mcp.toml:4: servers.bad.tool_exposure.a: "off" is no exposure; use direct, deferred, codemode or hidden`},
	{"command='x'\ntool_exposure.get.me='direct'", `mcp.toml:4: servers.bad.tool_exposure.get: is a table; put a tool's name that holds a dot in quotes: "a.b" = ...`},
	{"command='x'\ntool_exposure={''='direct'}", `mcp.toml:4: servers.bad.tool_exposure."": is no tool's name; write one, or a pattern such as "delete_*"`},
	{"command='x'\nconsent='maybe'", `mcp.toml:4: servers.bad.consent: "maybe" is not allowed; write "ask", "allow" or "deny"`},
	{"command='x'\nconsent={'a*'='maybe'}", `mcp.toml:4: servers.bad.consent."a*": "maybe" is not allowed; write "ask", "allow" or "deny"`},
	{"command='x'\nretry='sometimes'", `mcp.toml:4: servers.bad.retry: "sometimes" is not allowed; write "safe", "always" or "never"`},
	{"command='x'\nvalidate_results='yes'", `mcp.toml:4: servers.bad.validate_results: "yes" is not allowed; write "off", "warn" or "strict"`},
	{"command='x'\non_change='stop'", `mcp.toml:4: servers.bad.on_change: "stop" is not allowed; write "warn" or "block"`},
	{"command='x'\nmax_concurrent=0", `mcp.toml:4: servers.bad.max_concurrent: 0 is out of range; allowed are 1 to 1000`},
	{"plugin='p q'", `mcp.toml:3: servers.bad.plugin: "p q" is not a plugin's name; write the part of its file name after "collet-plugin-", or a path with a slash`},
	{"plugin='p'\nconfig={a=[1,-inf]}", `mcp.toml:4: servers.bad.config.a[1]: inf and nan cannot be passed on as JSON; write a number, or a string if the plugin takes one`},
	// Durations.
	{"command='x'\ntimeout=30", `mcp.toml:4: servers.bad.timeout: must be a duration, not an integer; write "30s"`},
	{"command='x'\ntimeout=1.5", `mcp.toml:4: servers.bad.timeout: must be a duration, not a float; write it in quotes, such as "30s"`},
	{"command='x'\ntimeout='30'", `mcp.toml:4: servers.bad.timeout: "30" has no unit; write "30s"`},
	{"command='x'\ntimeout='30 seconds'", `mcp.toml:4: servers.bad.timeout: "30 seconds" is not a duration; write a number and a unit, such as "30s" or "2m"`},
	{"command='x'\ntimeout='999ms'", `mcp.toml:4: servers.bad.timeout: "999ms" is out of range; allowed are 1s to 600s`},
	{"command='x'\ntimeout='601s'", `mcp.toml:4: servers.bad.timeout: "601s" is out of range; allowed are 1s to 600s`},
	{"command='x'\ntimeout='-5s'", `mcp.toml:4: servers.bad.timeout: "-5s" is out of range; allowed are 1s to 600s`},
	{"command='x'\nmax_timeout='61m'", `mcp.toml:4: servers.bad.max_timeout: "61m" is out of range; allowed are 1s to 1h`},
	{"command='x'\ntimeout='20s'\nmax_timeout='10s'", `mcp.toml:5: servers.bad.max_timeout: is shorter than timeout; it bounds all attempts together, make it at least "20s"`},
	{"command='x'\nstart_timeout='0s'", `mcp.toml:4: servers.bad.start_timeout: "0s" is out of range; allowed are 1s to 1h`},
	{"command='x'\nidle_timeout='1ms'", `mcp.toml:4: servers.bad.idle_timeout: "1ms" is out of range; allowed are 1s to 720h`},
	// Keys that do not go together.
	{"command='x'\nenabled=true\ndisabled=false", `mcp.toml:5: servers.bad.disabled: enabled and disabled may not both be set; remove one of them`},
	{"command='x'\nurl='http://h'", `mcp.toml:4: servers.bad.url: command and url may not both be set; keep command to start a program, url to reach a server that runs already`},
	{"exposure='direct'", `mcp.toml:2: servers.bad: nothing says how to reach this server; set command (a program), url (a running server) or plugin`},
	{"plugin='mcp'", `mcp.toml:2: servers.bad: nothing says how to reach this server; set command (a program), url (a running server) or plugin`},
	{"command='x'\nheaders={}\nca_file='y'", `mcp.toml:4: servers.bad.headers: goes with url, not with command; remove it` + "\n" +
		`mcp.toml:5: servers.bad.ca_file: goes with url, not with command; remove it`},
	{"url='http://h'\nargs=[]", `mcp.toml:4: servers.bad.args: goes with command, not with url; remove it`},
	{"plugin='github'\ncommand='x'", `mcp.toml:4: servers.bad.command: does not go with plugin = "github", which decides itself what it starts or connects to; remove it, or put its settings into config`},
	{"plugin='./p'\ninherit_env=true", `mcp.toml:4: servers.bad.inherit_env: does not go with plugin = "./p", which decides itself what it starts or connects to; remove it, or put its settings into config`},
	{"command='x'\nconfig={a=1}", `mcp.toml:4: servers.bad.config: holds the settings of a named plugin; with command or url write them as args, env or headers, or set plugin`},
	// Several faults, each with its line.
	{"comand='x'\nargs='a'\ntimeout=30", `mcp.toml:3: servers.bad.comand: unknown key; did you mean command?` + "\n" +
		`mcp.toml:4: servers.bad.args: must be an array of strings, not a string; put it in brackets, one string per word: ["first", "second"]` + "\n" +
		`mcp.toml:5: servers.bad.timeout: must be a duration, not an integer; write "30s"`},
}

// A faulty entry stands beside a good one, which stays usable; the message has
// file, line and field, and says what to do.
func TestServerFaults(t *testing.T) {
	for _, c := range serverFaults {
		for _, eol := range []string{"\n", "\r\n"} {
			text := strings.ReplaceAll("# first line\n[servers.bad]\n"+c.entry+"\n[servers.good]\ncommand = 'g'\n", "\n", eol)
			cfg := Parse("mcp.toml", []byte(text))
			if got := strings.TrimSuffix(problems(cfg), "\n"); got != c.want {
				t.Errorf("%q:\n%s\nwant\n%s", c.entry, got, c.want)
			}
			for _, p := range cfg.Problems {
				if p.Server != "bad" || p.Column == 0 {
					t.Errorf("%q: server %q, column %d", c.entry, p.Server, p.Column)
				}
			}
			if got := serverNames(cfg); got != "good" {
				t.Errorf("%q: usable are %q", c.entry, got)
			}
		}
	}
}

func TestHostFaults(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"log_level='loud'", `m:2: host.log_level: "loud" is not allowed; write "debug", "info", "warn" or "error"`},
		{"exposure=1", `m:2: host.exposure: must be a string, not an integer; put it in quotes`},
		{"exposure='all'", `m:2: host.exposure: "all" is no exposure; use direct, deferred, codemode or hidden`},
		{"wire_names='short'", `m:2: host.wire_names: "short" is not allowed; write "prefixed" or "plain"`},
		{"response_budget=1000", `m:2: host.response_budget: must be a size, not an integer; write a number and a unit in quotes, such as "256KiB"`},
		{"response_budget='256KB'", `m:2: host.response_budget: "256KB" is not a size; write a whole number and B, KiB or MiB, such as "256KiB"`},
		{"response_budget='1.5MiB'", `m:2: host.response_budget: "1.5MiB" is not a size; write a whole number and B, KiB or MiB, such as "256KiB"`},
		{"response_budget='512B'", `m:2: host.response_budget: "512B" is out of range; allowed are 1KiB to 64MiB`},
		{"response_budget='99999999999999999999GiB'", `m:2: host.response_budget: "99999999999999999999GiB" is out of range; allowed are 1KiB to 64MiB`},
		{"connect_wait=10", `m:2: host.connect_wait: must be a duration, not an integer; write "10s"`},
		{"connect_wait='1h'", `m:2: host.connect_wait: "1h" is out of range; allowed are 0s to 600s`},
		{"plugin_dirs='x'", `m:2: host.plugin_dirs: must be an array of strings, not a string; put it in brackets, one string per word: ["first", "second"]`},
		{"expsure='direct'", `m:2: host.expsure: unknown key; did you mean exposure?`},
	} {
		cfg := Parse("m", []byte("[host]\n"+c.line+"\n[servers.good]\ncommand='x'\n"))
		if got := strings.TrimSuffix(problems(cfg), "\n"); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.line, got, c.want)
		}
		if !reflect.DeepEqual(cfg.Host, defaultHost()) {
			t.Errorf("%q: host %+v, want the defaults", c.line, cfg.Host)
		}
		if s := cfg.Server("good"); s == nil || s.Rules.Default != exposure.Codemode {
			t.Errorf("%q: good is %+v", c.line, s)
		}
	}
}

func TestTopLevelFaults(t *testing.T) {
	for _, c := range []struct{ text, want, usable string }{
		{"[server.a]\ncommand='x'", `m:1: server: unknown key; did you mean servers?`, ""},
		{"debug=true\n[servers.a]\ncommand='x'", `m:1: debug: unknown key; known here: host, servers, hooks`, "a"},
		{"host='x'\n[servers.a]\ncommand='x'", `m:1: host: must be a table, not a string; write [host] above its keys`, "a"},
		{"[[servers]]\nname='x'", `m:1: servers: must be a table, not an array of tables; write [servers] above its keys`, ""},
		{"servers.a='x'\nservers.b.command='x'", `m:1: servers.a: must be a table, not a string; write [servers.a] above its keys`, "b"},
		// Names.
		{"[servers.a_]\ncommand='x'\n[servers.a]\ncommand='x'", `m:1: servers.a_: ` + name.CheckServer("a_").Error(), "a"},
		{"[servers.a__b]\ncommand='x'", `m:1: servers.a__b: ` + name.CheckServer("a__b").Error(), ""},
		{"[servers.'a/b']\ncommand='x'", `m:1: servers."a/b": ` + name.CheckServer("a/b").Error(), ""},
		{"[servers.\"\"]\ncommand='x'", `m:1: servers."": ` + name.CheckServer("").Error(), ""},
		{"[servers.my-db]\ncommand='x'\n[servers.My_DB]\ncommand='x'",
			`m:3: servers.My_DB: differs only in case or in - and _ from "my-db" at m:1; rename one of them`, "my-db"},
		{"[servers.db]\ncommand='x'\n[servers.my_db]\ncommand='x'", ``, "db my_db"},
		{"", ``, ""},
		{"[servers]", ``, ""},
	} {
		cfg := Parse("m", []byte(c.text))
		if got := strings.TrimSuffix(problems(cfg), "\n"); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
		if got := serverNames(cfg); got != c.usable {
			t.Errorf("%q: usable are %q, want %q", c.text, got, c.usable)
		}
	}
}
