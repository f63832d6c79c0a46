package clientfile

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

var around = Surroundings{Home: "/home/ann", WorkDir: "/srv/shop/api"}

// read wants the file to be understood.
func read(t *testing.T, path, client, text string) *File {
	t.Helper()
	f, err := Read(path, []byte(text), client, around)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return f
}

// want compares servers without their notes, which are compared as substrings, one
// per note, in order.
func want(t *testing.T, f *File, servers []Server, notes map[string][]string) {
	t.Helper()
	if len(f.Servers) != len(servers) {
		t.Errorf("%d servers, want %d", len(f.Servers), len(servers))
	}
	for i, s := range f.Servers {
		if i >= len(servers) {
			t.Errorf("server %q is too many", s.Name)
			continue
		}
		wantNotes(t, s.Name, s.Notes, notes[s.Name])
		s.Notes = nil
		if !reflect.DeepEqual(s, servers[i]) {
			t.Errorf("server %d is\n%#v\nwant\n%#v", i, s, servers[i])
		}
	}
	wantNotes(t, "the file", f.Notes, notes[""])
}

func wantNotes(t *testing.T, of string, notes, want []string) {
	t.Helper()
	if len(notes) != len(want) {
		t.Errorf("notes of %s are %q, want %q", of, notes, want)
		return
	}
	for i := range want {
		if !strings.Contains(notes[i], want[i]) {
			t.Errorf("note %d of %s is %q, want %q in it", i, of, notes[i], want[i])
		}
	}
}

func TestClaudeDesktop(t *testing.T) {
	f := read(t, "/home/ann/.config/Claude/claude_desktop_config.json", "", `{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "~/notes"]},
    "brave search": {"command": "npx", "args": ["-y", "brave"], "env": {"BRAVE_API_KEY": "a$b${c}", "N": 3, "BANG": "!x"}},
    "empty": {},
    "list": [1]
  }
}`)
	if f.Client.Name != "claude-desktop" || f.Project != "" {
		t.Errorf("client %q, project %q", f.Client.Name, f.Project)
	}
	want(t, f, []Server{
		{Name: "filesystem", Enabled: true, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "~/notes"}},
		{
			Name: "brave search", Enabled: true, Command: "npx", Args: []string{"-y", "brave"},
			Env: []Pair{{"BRAVE_API_KEY", "a$$b$${c}"}, {"N", "3"}, {"BANG", "!!x"}},
		},
	}, map[string][]string{
		"filesystem":   {`"args[2]" begins with ~`},
		"brave search": {`"env.N" is no string`},
		"":             {`"empty" says neither`, `"list" is not an object`},
	})
}

func TestClaudeCode(t *testing.T) {
	f := read(t, "/home/ann/.claude.json", "", `{
  "numStartups": 7,
  "mcpServers": {
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}, "timeout": 600000},
    "events": {"type": "sse", "url": "${BASE:-https://example.com}/sse", "headersHelper": "/bin/x"},
    "bare": {"type": "stdio", "command": "$HOME/x", "args": ["$A", "${A", "${not a name}", "${B:-$x}"], "env": {}}
  },
  "projects": {
    "/srv/shop": {
      "history": [{"display": "hi"}],
      "mcpServers": {"db": {"command": "./bin/db", "args": ["--here"]}, "off": {"command": "x"}},
      "disabledMcpServers": ["off"]
    },
    "/srv/shopping": {"mcpServers": {"other": {"command": "x"}}},
    "/srv/empty": {"mcpServers": {}}
  }
}`)
	want(t, f, []Server{
		{Name: "github", Enabled: true, URL: "https://api.githubcopilot.com/mcp/", Headers: []Pair{{"Authorization", "Bearer ${GITHUB_TOKEN}"}}, Timeout: 10 * time.Minute},
		{Name: "events", Enabled: true, URL: "${BASE:-https://example.com}/sse"},
		{Name: "bare", Enabled: true, Command: "$$HOME/x", Args: []string{"$$A", "$${A", "$${not a name}", "${B:-$$x}"}},
		{Name: "db", Enabled: true, Command: "/srv/shop/bin/db", Args: []string{"--here"}, Cwd: "/srv/shop"},
		{Name: "off", Command: "x", Cwd: "/srv/shop"},
	}, map[string][]string{
		"events": {`"headersHelper"`},
		"bare":   {"relative path"},
		"":       {`(1) of the project in "/srv/shopping"`},
	})
}

func TestProjectFile(t *testing.T) {
	f := read(t, "/srv/shop/.mcp.json", "", `{"mcpServers": {
		"rel": {"command": "tools/run", "cwd": "sub"},
		"abs": {"command": "/bin/run", "cwd": "/tmp"},
		"var": {"command": "${TOOLS}/run"}
	}}`)
	if f.Client.Name != "claude-code" || f.Project != "/srv/shop" {
		t.Errorf("client %q, project %q", f.Client.Name, f.Project)
	}
	want(t, f, []Server{
		{Name: "rel", Enabled: true, Command: "/srv/shop/tools/run", Cwd: "/srv/shop/sub"},
		{Name: "abs", Enabled: true, Command: "/bin/run", Cwd: "/tmp"},
		{Name: "var", Enabled: true, Command: "${TOOLS}/run", Cwd: "/srv/shop"},
	}, nil)
}

func TestVSCode(t *testing.T) {
	f := read(t, "/srv/$hop/.vscode/mcp.json", "", "\xef\xbb\xbf"+`// the team's servers
{
  "inputs": [
    {"type": "promptString", "id": "token", "description": "API \"token\"", "password": true},
    {"type": "pickString", "id": "region", "description": "Region", "options": ["eu", "us"], "default": "eu"},
  ],
  "servers": {
    /* one that is started */
    "local": {
      "type": "stdio", "command": "${workspaceFolder}/run", // with a comment
      "args": ["--root=${workspaceFolder}", "${workspaceFolderBasename}", "${userHome}/x", "a:${userHome}", "${/}", "${what}", "http://x//y"],
      "env": {"TOKEN": "${input:token}", "REGION": "${input:region}", "PATH": "${env:PATH}:/x", "P": "${env:ProgramFiles(x86)}", "GONE": null, "C": "${config:a.b}"},
      "envFile": "${workspaceFolder}/.env",
      "dev": {"watch": "src"},
    },
    "remote": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "${input:other}"}},
  },
}`)
	if f.Client.Name != "vscode" || f.Project != "/srv/$hop" {
		t.Errorf("client %q, project %q", f.Client.Name, f.Project)
	}
	want(t, f, []Server{
		{
			Name: "local", Enabled: true, Command: "/srv/$$hop/run", Cwd: "/srv/$$hop",
			Args: []string{"--root=/srv/$$hop", "$$hop", "~/x", "a:/home/ann", "/", "$${what}", "http://x//y"},
			Env: []Pair{
				{"TOKEN", "${INPUT_TOKEN}"}, {"REGION", "${INPUT_REGION:-eu}"}, {"PATH", "${PATH}:/x"},
				{"P", "${ProgramFiles_x86_}"}, {"C", "${CONFIG_A_B}"},
			},
		},
		{Name: "remote", Enabled: true, URL: "https://example.com/mcp", Headers: []Pair{{"X-Key", "${INPUT_OTHER}"}}},
	}, map[string][]string{
		"local": {
			`("API \"token\"") is something that only VS Code can fill in; set the variable INPUT_TOKEN`,
			"INPUT_REGION", `"ProgramFiles(x86)" cannot be the name`, `"env.GONE" is null`, "CONFIG_A_B", "envFile is not read", `"dev"`,
		},
		"remote": {"INPUT_OTHER"},
	})
}

func TestVSCodeOutsideAProject(t *testing.T) {
	f := read(t, "/home/ann/.config/Code/User/settings.json", "vscode", `{
		"editor.fontSize": 12,
		"mcp": {"servers": {"x": {"command": "run", "args": ["${workspaceFolder}"], "cwd": "${userHome}"}}}
	}`)
	want(t, f, []Server{
		{Name: "x", Enabled: true, Command: "run", Args: []string{"${WORKSPACEFOLDER}"}, Cwd: "~"},
	}, map[string][]string{"x": {"WORKSPACEFOLDER"}})
	if f := read(t, "/home/ann/.config/Code/User/settings.json", "vscode", `{"a": 1}`); len(f.Servers) != 0 {
		t.Error("servers from nowhere")
	}
}

func TestCursor(t *testing.T) {
	f := read(t, "/home/ann/.cursor/mcp.json", "", `{"mcpServers": {
		"a": {"command": "npx -y foo", "env": {"K": "${env:K}"}},
		"b": {"url": "https://example.com/mcp", "auth": {"CLIENT_ID": "x"}},
		"c": {"type": "sse", "command": "x", "url": "http://localhost/sse"},
		"d": {"command": "x", "url": "http://localhost/mcp"}
	}}`)
	if f.Client.Name != "cursor" || f.Project != "" {
		t.Errorf("client %q, project %q", f.Client.Name, f.Project)
	}
	want(t, f, []Server{
		{Name: "a", Enabled: true, Command: "npx -y foo", Env: []Pair{{"K", "${K}"}}},
		{Name: "b", Enabled: true, URL: "https://example.com/mcp"},
		{Name: "c", Enabled: true, URL: "http://localhost/sse"},
		{Name: "d", Enabled: true, Command: "x"},
	}, map[string][]string{"a": {"holds spaces"}, "b": {`"auth"`}, "c": {`"command"`}, "d": {`"url"`}})
}

func TestWindsurf(t *testing.T) {
	f := read(t, "/home/ann/.codeium/windsurf/mcp_config.json", "", `{"mcpServers": {
		"a": {"serverUrl": "https://example.com/${OLD}/mcp", "headers": {
			"A": "Bearer ${env:T}", "B": "${file:/run/it's}", "C": "Bearer ${file:~/t} !", "D": "${file:x}${env:Y}"
		}},
		"b": {"command": "x", "args": ["${file:/run/t}"], "disabled": true, "disabledTools": ["rm"], "alwaysAllow": ["ls"]}
	}}`)
	want(t, f, []Server{
		{
			Name: "a", Enabled: true, URL: "https://example.com/${OLD}/mcp",
			Headers: []Pair{
				{"A", "Bearer ${T}"},
				{"B", `!cat -- '/run/it'\''s'`},
				{"C", `!printf %s 'Bearer ' "$(cat -- '/home/ann/t')" ' !'`},
				{"D", "${FILE_X}${Y}"},
			},
		},
		{Name: "b", Command: "x", Args: []string{"${FILE_T}"}, Hidden: []string{"rm"}},
	}, map[string][]string{"a": {"FILE_X"}, "b": {"FILE_T", `"alwaysAllow"`}})
}

func TestCodex(t *testing.T) {
	f := read(t, "/home/ann/.codex/config.toml", "", `
model = "o3"
[mcp_servers.local]
command = "npx"
args = ["-y", "$x"]
env_vars = ["A"]
startup_timeout_sec = 20.5
tool_timeout_sec = 1000
enabled_tools = ["a", "b"]
disabled_tools = ["b"]
[mcp_servers.local.env]
"K" = 'C:\x'
[mcp_servers."with dot.s"]
url = "https://example.com/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-A" = "1" }
env_http_headers = { "X-B" = "B_VAR" }
startup_timeout_ms = 10
enabled = false
required = true
`)
	if f.Client.Name != "codex" {
		t.Errorf("client %q", f.Client.Name)
	}
	want(t, f, []Server{
		{
			Name: "local", Enabled: true, Command: "npx", Args: []string{"-y", "$$x"}, Env: []Pair{{"K", `C:\x`}},
			StartTimeout: 20500 * time.Millisecond, Timeout: 10 * time.Minute,
			Only: []string{"a", "b"}, Hidden: []string{"b"},
		},
		{
			Name: "with dot.s", URL: "https://example.com/mcp", StartTimeout: time.Second,
			Headers: []Pair{{"X-A", "1"}, {"X-B", "${B_VAR}"}, {"Authorization", "Bearer ${TOKEN}"}},
		},
	}, map[string][]string{
		"local":      {"longer than mcp.toml allows"},
		"with dot.s": {"shorter than mcp.toml allows", `"required"`},
	})
}

func TestGemini(t *testing.T) {
	f := read(t, "/home/ann/.gemini/settings.json", "", `{
		"theme": "x", // allowed
		"mcp": {"excluded": ["c"]},
		"mcpServers": {
			"a": {"command": "run", "args": ["$A", "x${B}$", "$1", "${C:-d}", "$$X"], "cwd": "sub", "timeout": 30000, "trust": true,
			      "includeTools": ["x"], "excludeTools": []},
			"b": {"httpUrl": "https://example.com/mcp", "url": "https://example.com/sse", "description": "about it"},
			"c": {"url": "https://example.com/sse", "timeout": "5"}
		}
	}`)
	if f.Client.Name != "gemini" {
		t.Errorf("client %q", f.Client.Name)
	}
	want(t, f, []Server{
		{
			Name: "a", Enabled: true, Command: "run", Args: []string{"${A}", "x${B}$$", "$$1", "${C:-d}", "$$${X}"}, Cwd: "sub",
			Timeout: 30 * time.Second, Only: []string{"x"}, Hidden: []string{},
		},
		{Name: "b", Enabled: true, URL: "https://example.com/mcp", Description: "about it"},
		{Name: "c", URL: "https://example.com/sse"},
	}, map[string][]string{
		"a": {"cwd is a relative path", `"trust"`},
		"b": {`"url"`},
		"c": {"timeout is no number"},
	})
	f = read(t, "/srv/shop/.gemini/settings.json", "", `{"mcp": {"allowed": []}, "mcpServers": {"a": {"command": "x"}}}`)
	want(t, f, []Server{{Name: "a", Command: "x", Cwd: "/srv/shop"}}, nil)
}

func TestOpencode(t *testing.T) {
	f := read(t, "/srv/shop/opencode.jsonc", "", `{
		"$schema": "https://opencode.ai/config.json",
		"mcp": {
			"a": {"type": "local", "command": ["bun", "x", "{env:PKG}", "{no}"], "environment": {"K": "{file:./key}", "L": "a{env:L}b"}, "enabled": false, "timeout": 5000},
			"b": {"type": "remote", "url": "https://example.com/mcp", "oauth": false, "headers": {"A": "Bearer {env:T}"}},
			"c": {"enabled": true}
		}
	}`)
	if f.Client.Name != "opencode" || f.Project != "/srv/shop" {
		t.Errorf("client %q, project %q", f.Client.Name, f.Project)
	}
	want(t, f, []Server{
		{
			Name: "a", Command: "bun", Args: []string{"x", "${PKG}", "{no}"}, Cwd: "/srv/shop", Timeout: 5 * time.Second,
			Env: []Pair{{"K", "!cat -- '/srv/shop/key'"}, {"L", "a${L}b"}},
		},
		{Name: "b", Enabled: true, URL: "https://example.com/mcp", Headers: []Pair{{"A", "Bearer ${T}"}}},
	}, map[string][]string{"": {`"c" says neither`}})

	f = read(t, "/home/ann/.config/opencode/opencode.json", "", `{"mcp": {"timeout": {"startup": 1}, "servers": {
		"a": {"type": "local", "command": ["x"], "disabled": true, "timeout": {"startup": 20000, "request": 9000}}
	}}}`)
	want(t, f, []Server{
		{Name: "a", Command: "x", StartTimeout: 20 * time.Second, Timeout: 9 * time.Second},
	}, nil)
}

func TestZed(t *testing.T) {
	f := read(t, "/home/ann/.config/zed/settings.json", "", `// Zed settings
{
	"context_servers": {
		"a": {"source": "custom", "command": "x", "args": ["${A}"], "env": null, "timeout": 60},
		"old": {"command": {"path": "y", "args": ["1"], "env": {"K": "v"}, "odd": 1}, "settings": {}},
		"ext": {"source": "extension", "settings": {"k": 1}},
		"r": {"url": "https://example.com/mcp", "headers": {"A": "b"}, "enabled": false},
	},
}`)
	if f.Client.Name != "zed" {
		t.Errorf("client %q", f.Client.Name)
	}
	want(t, f, []Server{
		{Name: "a", Enabled: true, Command: "x", Args: []string{"$${A}"}, Timeout: time.Minute},
		{Name: "old", Enabled: true, Command: "y", Args: []string{"1"}, Env: []Pair{{"K", "v"}}},
		{Name: "r", URL: "https://example.com/mcp", Headers: []Pair{{"A", "b"}}},
	}, map[string][]string{
		"old": {`"settings", "command.odd"`},
		"":    {`"ext" says neither`},
	})
}

func TestOther(t *testing.T) {
	f := read(t, "/home/ann/lmstudio/mcp.json", "", `{"mcpServers": {"a": {"command": "x", "args": ["${A}", "${env:B}", "${C:-d}", "$E"]}}}`)
	want(t, f, []Server{
		{Name: "a", Enabled: true, Command: "x", Args: []string{"${A}", "${B}", "${C:-d}", "$$E"}},
	}, nil)
}
