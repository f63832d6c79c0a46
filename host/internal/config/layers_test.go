package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/exposure"
)

func layered(user, project string) *Config {
	return Merge([]Source{
		{File: "/u/mcp.toml", Layer: User, Data: []byte(user)},
		{File: "/p/mcp.toml", Layer: Project, Data: []byte(project)},
	})
}

// shown is what counts of each server, in order.
func shown(c *Config) string {
	var out []string
	for _, s := range c.Servers {
		reach := s.Command + s.URL + s.Plugin
		on := "on"
		if !s.Enabled {
			on = "off"
		}
		var tools []string
		for _, p := range s.Rules.Tools {
			tools = append(tools, fmt.Sprintf("%s=%s", p.Pattern, p.Exposure))
		}
		out = append(out, fmt.Sprintf("%s %s %s %s [%s]", s.Name, reach, on, s.Rules.Default, strings.Join(tools, " ")))
	}
	return strings.Join(out, "\n")
}

func TestLayers(t *testing.T) {
	const user = `[servers.a]
command = "ua"
env = { K = "secret" }
tool_exposure = { "x*" = "hidden", y = "direct" }
[servers.b]
command = "ub"
enabled = false
exposure = "hidden"
`
	for _, c := range []struct{ project, want, problems string }{
		{"", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []", ""},
		// Empty tables hide nothing.
		{"[servers]\n[host]\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []", ""},
		{"[servers.a]\n[servers.b]\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []", ""},
		{"[servers.a]\ntool_exposure = {}\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []", ""},
		// Another server stands beside them.
		{"[servers.c]\ncommand='pc'\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []\nc pc on codemode []", ""},
		// A whole entry replaces.
		{"[servers.a]\ncommand='pa'\n", "b ub off hidden []\na pa on codemode []", ""},
		{"[servers.b]\nurl='http://pb'\nexposure='direct'\n", "a ua on codemode [x*=hidden y=direct]\nb http://pb on direct []", ""},
		// An override changes what it says.
		{"[servers.a]\nenabled=false\n", "a ua off codemode [x*=hidden y=direct]\nb ub off hidden []", ""},
		{"[servers.a]\ndisabled=true\n", "a ua off codemode [x*=hidden y=direct]\nb ub off hidden []", ""},
		{"[servers.b]\nenabled=true\n", "a ua on codemode [x*=hidden y=direct]\nb ub on hidden []", ""},
		{"[servers.b]\ndisabled=false\nexposure='direct'\n", "a ua on codemode [x*=hidden y=direct]\nb ub on direct []", ""},
		{"[servers.a]\ntool_exposure={z='deferred'}\n", "a ua on codemode [z=deferred]\nb ub off hidden []", ""},
		{"[servers.b]\ntool_exposure={'*'='deferred'}\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden [*=deferred]", ""},
		// An override of nothing.
		{"[servers.n]\nenabled=true\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []",
			"/p/mcp.toml:1: servers.n: overrides nothing: the user's file has no server of that name; set command, url or plugin to define one here, or remove the entry"},
		{"[servers.n]\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []",
			"/p/mcp.toml:1: servers.n: overrides nothing: the user's file has no server of that name; set command, url or plugin to define one here, or remove the entry"},
		// What is faulty leaves the user's entry unused: what was meant is not known.
		{"[servers.a]\nenabled=false\nexposure='hiden'\n", "b ub off hidden []",
			`/p/mcp.toml:3: servers.a.exposure: "hiden" is no exposure; use direct, deferred, codemode or hidden`},
		{"[servers.a]\nenabled=true\ndisabled=false\n", "b ub off hidden []",
			`/p/mcp.toml:3: servers.a.disabled: enabled and disabled may not both be set; remove one of them`},
		{"[servers.a]\ncommand='pa'\ntimeout=1\n", "b ub off hidden []",
			`/p/mcp.toml:3: servers.a.timeout: must be a duration, not an integer; write "1s"`},
		{"[servers.a]\nexposre='hidden'\n", "b ub off hidden []",
			`/p/mcp.toml:2: servers.a.exposre: unknown key; did you mean exposure?`},
		{"servers.a='x'\n", "b ub off hidden []",
			`/p/mcp.toml:1: servers.a: must be a table, not a string; write [servers.a] above its keys`},
		// Half an entry is not an override: it does not borrow the user's command.
		{"[servers.a]\nenabled=true\nargs=['--evil']\n", "b ub off hidden []",
			`/p/mcp.toml:1: servers.a: nothing says how to reach this server; set command (a program), url (a running server) or plugin`},
		// A name that people take for the user's.
		{"[servers.A]\ncommand='pa'\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []",
			`/p/mcp.toml:1: servers.A: differs only in case or in - and _ from "a" at /u/mcp.toml:1; rename one of them`},
		{"[servers.A]\nenabled=false\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []",
			`/p/mcp.toml:1: servers.A: differs only in case or in - and _ from "a" at /u/mcp.toml:1; rename one of them`},
		// A syntax error skips the file, and nothing else.
		{"[servers.a]\nenabled=\n", "a ua on codemode [x*=hidden y=direct]\nb ub off hidden []",
			`/p/mcp.toml:2:9: expected value but found '\n' instead; the file is skipped`},
	} {
		cfg := layered(user, c.project)
		if got := shown(cfg); got != c.want {
			t.Errorf("%s\n%s\nwant\n%s", c.project, got, c.want)
		}
		if got := strings.TrimSuffix(problems(cfg), "\n"); got != c.problems {
			t.Errorf("%s\nproblems\n%s\nwant\n%s", c.project, got, c.problems)
		}
		if a := cfg.Server("a"); a != nil && (a.Layer == User) != (a.Env["K"] == "secret") {
			t.Errorf("%s: a is of layer %s with env %q", c.project, a.Layer, a.Env)
		}
	}
}

// A project cannot bring a command of its own to the user's credentials.
func TestProjectGetsNoCredentials(t *testing.T) {
	const user = "[servers.a]\ncommand='ua'\nenv={K='secret'}\n[servers.h]\nurl='https://h'\nheaders={K='secret'}\n[servers.p]\nplugin='p'\nconfig={k='secret'}\n"
	for _, key := range []string{"command='x'", "url='https://evil'", "plugin='./evil'", "args=['x']", "cwd='/evil'", "inherit_env=true", "ca_file='x'"} {
		for _, server := range []string{"a", "h", "p"} {
			s := layered(user, "[servers."+server+"]\nenabled=true\n"+key+"\n").Server(server)
			if s != nil && (len(s.Env) > 0 || len(s.Headers) > 0 || s.Config != nil) {
				t.Errorf("%s, %s: %+v", server, key, s)
			}
		}
	}
	c := layered(user, "[host]\nplugin_dirs=['./evil']\nlog_level='debug'\n")
	if len(c.Host.PluginDirs) > 0 || c.Host.LogLevel != "debug" {
		t.Errorf("host %+v", c.Host)
	}
	if want := "/p/mcp.toml:2: host.plugin_dirs: has no effect in a project's file; name a plugin by its path instead: plugin = \"./bin/collet-plugin-x\"\n"; problems(c) != want {
		t.Errorf("problems %s, want %s", problems(c), want)
	}
}

func TestUserFaults(t *testing.T) {
	// The project's entry replaces one that is faulty; the fault is told all the same.
	c := layered("[servers.a]\ncomand='x'\n", "[servers.a]\ncommand='pa'\n")
	if got := shown(c); got != "a pa on codemode []" || problems(c) != "/u/mcp.toml:2: servers.a.comand: unknown key; did you mean command?\n" {
		t.Errorf("%s\n%s", got, problems(c))
	}
	// An override does not repair one, and adds no fault of its own.
	c = layered("[servers.a]\ncomand='x'\n", "[servers.a]\nenabled=true\n")
	if got := shown(c); got != "" || problems(c) != "/u/mcp.toml:2: servers.a.comand: unknown key; did you mean command?\n" {
		t.Errorf("%s\n%s", got, problems(c))
	}
	// An unreadable or broken file of one layer leaves the other.
	for _, user := range []Source{{File: "/u/mcp.toml", Layer: User, Err: errors.New("permission denied")}, {File: "/u/mcp.toml", Layer: User, Data: []byte("[")}} {
		c := Merge([]Source{user, {File: "/p/mcp.toml", Layer: Project, Data: []byte("[servers.a]\ncommand='pa'\n")}})
		if got := shown(c); got != "a pa on codemode []" || len(c.Problems) != 1 || c.Problems[0].File != "/u/mcp.toml" {
			t.Errorf("%s\n%s", got, problems(c))
		}
	}
	if got := problems(Merge([]Source{{File: "f", Layer: User, Err: errors.New("permission denied")}})); got != "f: cannot be read: permission denied; the file is skipped\n" {
		t.Error(got)
	}
}

func TestHostLayers(t *testing.T) {
	c := layered("[host]\nwire_names='plain'\nresponse_budget='1MiB'\nplugin_dirs=['~/p']\nexposure='hidden'\n[servers.u]\ncommand='x'\n",
		"[host]\nresponse_budget='2MiB'\nconnect_wait='1s'\nlog_level='loud'\nexposure='direct'\n[servers.p]\ncommand='x'\n")
	h := c.Host
	if h.WireNames != "plain" || h.ResponseBudget != 2<<20 || h.ConnectWait.Seconds() != 1 || h.LogLevel != "" || len(h.PluginDirs) != 1 {
		t.Errorf("host %+v", h)
	}
	// What the project says of exposure does not show the user's tools.
	if u, p := c.Server("u").Rules.Default, c.Server("p").Rules.Default; u != exposure.Hidden || p != exposure.Direct {
		t.Errorf("exposure of the user's server %s, of the project's %s", u, p)
	}
	c = layered("[host]\nexposure='hidden'\n", "[servers.p]\ncommand='x'\n")
	if p := c.Server("p").Rules.Default; p != exposure.Hidden {
		t.Errorf("exposure of the project's server %s, want the user's default", p)
	}
}

func TestPlaces(t *testing.T) {
	c := layered("[host]\nexposure='hidden'\n[servers.a]\ncommand='x'\ndisabled=true\ntool_exposure={x='direct'}\n[servers.b]\ncommand='x'\n",
		"[servers.a]\nexposure='direct'\nenabled=true\ntool_exposure={}\n[servers.c]\ncommand='x'\n")
	a, b := c.Server("a"), c.Server("b")
	for _, p := range []struct {
		got  Place
		want string
	}{
		{a.Place("command"), "/u/mcp.toml:4"},
		{a.Place("exposure"), "/p/mcp.toml:2"},
		{a.Place("tool_exposure"), "/u/mcp.toml:6"}, // the empty table changes nothing
		{a.Place("timeout"), ""},
		{a.Switch(), "/p/mcp.toml:3"},
		{b.Place("exposure"), "/u/mcp.toml:2"},
		{b.Switch(), "/u/mcp.toml:7"},
		{c.Server("c").Place("exposure"), "/u/mcp.toml:2"},
		{c.Server("c").Switch(), "/p/mcp.toml:5"},
		{(&Server{}).Place("command"), ""},
	} {
		if p.got.String() != p.want {
			t.Errorf("%s, want %s", p.got, p.want)
		}
	}
}

func FuzzLayers(f *testing.F) {
	f.Add([]byte("[servers.a]\ncommand='u'\nenv={K='$X'}\n"), []byte("[servers.a]\nenabled=false\ntool_exposure={}\n"))
	f.Add([]byte("[host]\nexposure=1\n[servers.a]\n"), []byte("[host]\nplugin_dirs=['x']\n[servers.A]\nexposure='direct'\n"))
	f.Fuzz(func(t *testing.T, user, project []byte) {
		alone, c := Merge([]Source{{File: "u", Layer: User, Data: user}}), Merge([]Source{{File: "u", Layer: User, Data: user}, {File: "p", Layer: Project, Data: project}})
		if len(c.Problems) < len(alone.Problems) {
			t.Errorf("the project hides faults:\n%swithout it:\n%s", problems(c), problems(alone))
		}
		for _, s := range c.Servers {
			before := alone.Server(s.Name)
			if s.Layer == User && (before == nil || s.Command != before.Command || s.URL != before.URL || s.Plugin != before.Plugin || string(s.Config) != string(before.Config)) {
				t.Errorf("the project changes how a user's server is reached: %+v", s)
			}
		}
		if len(c.Host.PluginDirs) != len(alone.Host.PluginDirs) {
			t.Errorf("the project changes plugin_dirs: %q", c.Host.PluginDirs)
		}
	})
}
