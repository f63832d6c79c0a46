package clientfile

import (
	"strings"
	"testing"
)

func TestUnreadable(t *testing.T) {
	for name, c := range map[string]struct{ path, client, text, want string }{
		"syntax":       {"a.json", "", "{\n  \"mcpServers\": {\n    oops\n  }\n}", "line 3, column 5"},
		"cut off":      {"a.json", "", "{\"a\": [1,", "line 1, column 9"},
		"open comment": {"a.json", "", "{} /* x", "line 1, column 4"},
		"no object":    {"a.json", "", "[1]", "is not an object"},
		"nothing":      {"a.json", "", `{"a": 1}`, "no servers of a client that is known"},
		"client":       {"a.json", "emacs", `{}`, `"emacs"`},
		"utf-16":       {"a.json", "", "\xff\xfe{\x00}\x00", "UTF-16"},
		"latin1":       {"a.json", "", "{\"a\": \"\xe9\"}", "not UTF-8"},
		"toml":         {"a.toml", "codex", "a = \n", "line 1"},
		"deep toml":    {"a.toml", "codex", "a = " + strings.Repeat("[", 100_000), "too deep"},
		"deep json":    {"a.json", "", strings.Repeat("[", 100_000), "is not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(c.path, []byte(c.text), c.client, around)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"", " \n", "// nothing yet\n", "{}"} {
		if f := read(t, "/x/mcp.json", "cursor", text); len(f.Servers)+len(f.Notes) > 0 {
			t.Errorf("%q holds %v", text, f)
		}
	}
}

func TestOddShapes(t *testing.T) {
	for _, text := range []string{
		`{"mcpServers": []}`, `{"mcpServers": null}`, `{"mcpServers": {"a": {"command": ["x"]}}}`,
		`{"mcpServers": {"a": {"command": "x", "args": "y", "env": ["z"], "cwd": 1, "disabled": "yes"}}}`,
		`{"mcpServers": {"a": {"url": 5}, "a": {"command": "second"}}}`,
		`{"projects": {"/srv/shop": [], "x": {"mcpServers": 3}}}`,
	} {
		f := read(t, "/x/a.json", "claude-code", text)
		for _, s := range f.Servers {
			if s.Command == "" && s.URL == "" {
				t.Errorf("%s: server %v reaches nothing", text, s)
			}
		}
	}
	f := read(t, "/x/a.json", "cursor", `{"mcpServers": {"a": {"command": "first"}, "a": {"command": "second"}}}`)
	if len(f.Servers) != 1 || f.Servers[0].Command != "second" {
		t.Errorf("of two equal keys the last one counts, got %v", f.Servers)
	}
}

// Notes end up on terminals and in issues.
func TestNotesHoldNoSecrets(t *testing.T) {
	for _, client := range Names() {
		path, text := "/x/a.json", `{"KEY": {"a": {"command": "x", "url": "SECRET", "args": ["~/SECRET", "${A:-SECRET}}", 5],
			"env": {"K": "~SECRET", "L": {"x": "SECRET"}}, "headers": {"A": ["SECRET"]}, "apiKey": "SECRET", "timeout": "SECRET"}}}`
		for _, key := range []string{"mcpServers", "servers", "mcp", "context_servers", "mcp_servers"} {
			f := read(t, path, client, strings.Replace(text, "KEY", key, 1))
			for _, s := range f.Servers {
				if strings.Contains(strings.Join(append(s.Notes, f.Notes...), "\n"), "SECRET") {
					t.Errorf("%s: notes quote values: %q %q", client, s.Notes, f.Notes)
				}
			}
		}
	}
}

func TestPlaces(t *testing.T) {
	env := map[string]string{"CODEX_HOME": "/codex", "XDG_CONFIG_HOME": "/xdg", "CLAUDE_CONFIG_DIR": "not absolute"}
	seen := map[string]bool{}
	for _, p := range Places(around, func(k string) string { return env[k] }) {
		if _, ok := Named(p.Client); !ok {
			t.Errorf("%s: no client %q", p.Path, p.Client)
		}
		if seen[p.Path] {
			t.Errorf("%s is there twice", p.Path)
		}
		seen[p.Path] = true
		if p.Project != strings.HasPrefix(p.Path, around.WorkDir) {
			t.Errorf("%s: project is %v", p.Path, p.Project)
		}
	}
	for _, want := range []string{"/codex/config.toml", "/home/ann/.claude.json", "/xdg/opencode/opencode.json", "/srv/shop/api/.mcp.json"} {
		if !seen[want] {
			t.Errorf("%s is missing in %v", want, seen)
		}
	}
	for _, p := range Places(Surroundings{}, func(string) string { return "" }) {
		t.Errorf("without a home there is %v", p)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "x", "args": ["$A", "${b:-c}", "~"], "env": {"K": "!v"}}}}`, "claude-code", false)
	f.Add("{\"servers\": {\"a\": {\"url\": \"${input:x}\"}}, // c\n \"inputs\": [{\"id\": \"x\"},],}", "vscode", false)
	f.Add("[mcp_servers.a]\ncommand = 'x'\nstartup_timeout_sec = 1e300\n", "codex", true)
	f.Add(`{"mcp": {"a": {"type": "local", "command": ["x", "{file:y}"]}}}`, "opencode", false)
	f.Add(`{"context_servers": {"a": {"command": {"path": "x"}}}} /`, "", false)
	f.Fuzz(func(t *testing.T, text, client string, toml bool) {
		path := "/x/.vscode/mcp.json"
		if toml {
			path = "/x/config.toml"
		}
		file, err := Read(path, []byte(text), client, around)
		if err != nil {
			return
		}
		for _, s := range file.Servers {
			if (s.Command == "") == (s.URL == "") {
				t.Errorf("server %q: command %q, url %q", s.Name, s.Command, s.URL)
			}
		}
	})
}

func TestIsCollet(t *testing.T) {
	for _, c := range []struct {
		command string
		args    []string
		want    bool
	}{
		{"/opt/bin/collet", []string{"serve"}, true},
		{`C:\Program Files\Collet.EXE`, []string{"--config", "x", "serve"}, true},
		{"collet", []string{"tools"}, false},
		{"/opt/collet/other", []string{"serve"}, false},
		{"", []string{"serve"}, false},
	} {
		s := Server{Command: c.command, Args: c.args}
		if got := s.IsCollet(); got != c.want {
			t.Errorf("%q %v: %v", c.command, c.args, got)
		}
	}
}
