package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// testResolver knows testVars and answers a command with its script and
// directory; "fail" fails.
func testResolver() Resolver {
	return Resolver{
		Lookup: testLookup,
		Home:   "/home/me",
		Command: func(_ context.Context, script, dir string) (string, error) {
			if strings.Contains(script, "fail") {
				return "secret-output", errors.New("exit status 3")
			}
			return fmt.Sprintf("<%s in %s>\r\n\n", script, dir), nil
		},
	}
}

func entry(t *testing.T, lines string) *Server {
	t.Helper()
	c := Parse("/conf/mcp.toml", []byte("[servers.s]\n"+lines+"\n"))
	if len(c.Problems) > 0 {
		t.Fatal(problems(c))
	}
	return c.Servers[0]
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  Resolved
	}{
		{`command = "npx"` + "\n" + `args = ["$X", '${NO:-d}', "~/notes", "!id", "$HAS_BANG", ""]`,
			Resolved{Command: "npx", Args: []string{"ex", "d", "/home/me/notes", "!id", "!id", ""}, Cwd: "/conf"}},
		{`command = "./bin/$X"` + "\n" + `cwd = "sub/../$X"`, Resolved{Command: "/conf/bin/ex", Cwd: "/conf/ex"}},
		{`command = "~/bin/x"` + "\n" + `cwd = "~"`, Resolved{Command: "/home/me/bin/x", Cwd: "/home/me"}},
		{`command = "/bin/x"` + "\n" + `cwd = "/w"`, Resolved{Command: "/bin/x", Cwd: "/w"}},
		{`command = "x"` + "\n" + `env = { A = "$X", "$X" = "$$X", B = "!echo $X $$ ~", C = "!!$X", D = "$HAS_BANG", E = "$EMPTY", F = "a!b" }`,
			Resolved{Command: "x", Cwd: "/conf", Env: map[string]string{
				"A": "ex", "$X": "$X", "B": "<echo $X $$ ~ in /conf>", "C": "!ex", "D": "!id", "E": "", "F": "a!b"},
				Fetched: []Fetched{{"env.B", "<echo $X $$ ~ in /conf>"}}}},
		{`url = "https://${X}/mcp"` + "\n" + `headers = { Authorization = "Bearer ${X}", K = "!key" }` + "\n" + `ca_file = "ca/$X.pem"`,
			Resolved{URL: "https://ex/mcp", Cwd: "/conf", CAFile: "/conf/ca/ex.pem",
				Headers: map[string]string{"Authorization": "Bearer ex", "K": "<key in /conf>"},
				Fetched: []Fetched{{"headers.K", "<key in /conf>"}}}},
		{`plugin = "github"` + "\n" + `config = { z = "$X", a = [{ "$X" = "!c", n = 9007199254740993 }, 1.0, true, "$HAS_DOLLAR", "<&>"] }`,
			Resolved{Plugin: "github", Cwd: "/conf",
				Config:  []byte(`{"z":"ex","a":[{"$X":"<c in /conf>","n":9007199254740993},1.0,true,"a$HOME${X}$$b","<&>"]}`),
				Fetched: []Fetched{{`config.a[0]."$X"`, "<c in /conf>"}}}},
		{`plugin = "../plugins/p"`, Resolved{Plugin: "/plugins/p", Cwd: "/conf"}},
		{`plugin = "~/p"` + "\n" + `config = {}`, Resolved{Plugin: "/home/me/p", Cwd: "/conf", Config: []byte(`{}`)}},
	} {
		got, err := entry(t, c.lines).Resolve(t.Context(), testResolver())
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s\n%+v, %v, want\n%+v", c.lines, got, err, c.want)
		}
	}
}

func TestResolveErrors(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"plugin = 'p'\nconfig = { user = 'u',\n  token = '${TOKEN}' }",
			"s: TOKEN is not set (/conf/mcp.toml:4, servers.s.config.token); set it or set enabled = false"},
		{"plugin = 'p'\n[servers.s.config.a]\nb = [ 'x',\n { 'c d' = 'secret$TOKEN' } ]",
			`s: TOKEN is not set (/conf/mcp.toml:5, servers.s.config.a.b[1]."c d"); set it or set enabled = false`},
		{"command = 'x'\nargs = [\n 'a', '$ONE',\n '$TWO' ]\nenv = { K = '!ask', L = '$ONE' }",
			"s: ONE is not set (/conf/mcp.toml:6, servers.s.env.L), ONE is not set (/conf/mcp.toml:4, servers.s.args[1]), TWO is not set (/conf/mcp.toml:5, servers.s.args[2]); set them or set enabled = false"},
		{"url = 'http://$TOKEN'", "s: TOKEN is not set (/conf/mcp.toml:2, servers.s.url); set it or set enabled = false"},
		{"url = 'http://h'\nheaders = { A = 'Bearer $TOKEN' }", "s: TOKEN is not set (/conf/mcp.toml:3, servers.s.headers.A); set it or set enabled = false"},
		{"plugin = '$TOKEN/p'", "s: TOKEN is not set (/conf/mcp.toml:2, servers.s.plugin); set it or set enabled = false"},
		{"command = 'x'\nenv = { A = 'secret${' }",
			"s: /conf/mcp.toml:3, servers.s.env.A: holds a ${ that is not a variable: write ${NAME} or ${NAME:-default}, and $$ for a dollar sign"},
		{"command = 'x'\nenv = { A = '!echo secret; fail' }", "s: /conf/mcp.toml:3, servers.s.env.A: its command failed: exit status 3"},
		{"command = '$EMPTY'", "s: /conf/mcp.toml:2, servers.s.command: is empty once its variables are expanded"},
		{"url = '$X'", "s: /conf/mcp.toml:2, servers.s.url: must, once its variables are expanded, begin with http:// or https:// and name a host"},
		{"command = 'x'\nargs = ['a', \"secret\\u0000\"]", "s: /conf/mcp.toml:3, servers.s.args[1]: holds a zero byte or a line end, which cannot be passed on"},
		{"url = 'http://h'\nheaders = { A = \"secret\\nX: y\" }", "s: /conf/mcp.toml:3, servers.s.headers.A: holds a zero byte or a line end, which cannot be passed on"},
	} {
		_, err := entry(t, c.lines).Resolve(t.Context(), testResolver())
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\n%v, want\n%s", c.lines, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a value is in the error: %v", err)
		}
	}
}

// A command may ask a person; it must not run when the server cannot start anyway,
// and once when it can.
func TestResolveRunsCommandsLast(t *testing.T) {
	runs := 0
	r := testResolver()
	r.Command = func(context.Context, string, string) (string, error) { runs++; return "x", nil }
	s := entry(t, "command = 'x'\nargs = ['$GONE']\nenv = { A = '!ask' }")
	if _, err := s.Resolve(t.Context(), r); err == nil || runs != 0 {
		t.Errorf("%v, the command ran %d times, want an error and none", err, runs)
	}
	s.Args = nil
	if _, err := s.Resolve(t.Context(), r); err != nil || runs != 1 {
		t.Errorf("%v, the command ran %d times, want once", err, runs)
	}
	r.Command = nil
	if _, err := s.Resolve(t.Context(), r); err == nil || !strings.Contains(err.Error(), "servers.s.env.A: is a command, and commands cannot be run here") {
		t.Errorf("without Command: %v", err)
	}
}

func TestResolveCommandErrorIsWrapped(t *testing.T) {
	r := testResolver()
	r.Command = func(ctx context.Context, _, _ string) (string, error) { return "", ctx.Err() }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := entry(t, "command = 'x'\nenv = { A = '!ask' }").Resolve(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want one that wraps context.Canceled", err)
	}
}

// An entry made by hand has no positions; it resolves all the same.
func TestResolveWithoutPositions(t *testing.T) {
	s := &Server{Name: "h", File: "m", Line: 7, Dir: "/d", Plugin: "p", Config: []byte(`{ "a" : [ "$X" ] , "b":"$NO"}`)}
	_, err := s.Resolve(t.Context(), testResolver())
	if want := "h: NO is not set (m:7, servers.h.config.b); set it or set enabled = false"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestResolveRelativeFile(t *testing.T) {
	c := Parse("sub/mcp.toml", []byte("[servers.s]\ncommand='./x'\n"))
	got, err := c.Servers[0].Resolve(t.Context(), testResolver())
	if err != nil {
		t.Fatal(err)
	}
	want, _ := filepath.Abs("sub")
	if got.Cwd != want || got.Command != filepath.Join(want, "x") {
		t.Errorf("%+v, want it under %s", got, want)
	}
}

func TestResolvePluginDirs(t *testing.T) {
	c := Parse("/conf/mcp.toml", []byte("[host]\nplugin_dirs = ['~/p', 'rel',\n '$GONE/x', '/abs/$X',\n '']\n"))
	dirs, faults := c.Host.ResolvePluginDirs(testResolver())
	if want := []string{"/home/me/p", "/conf/rel", "/abs/ex"}; !reflect.DeepEqual(dirs, want) {
		t.Errorf("dirs %q, want %q", dirs, want)
	}
	want := "/conf/mcp.toml:3: host.plugin_dirs[2]: GONE is not set; set it or remove the entry\n" +
		"/conf/mcp.toml:4: host.plugin_dirs[4]: is empty; give it a value or remove it\n"
	if got := problems(&Config{Problems: faults}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
