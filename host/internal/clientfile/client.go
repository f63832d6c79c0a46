package clientfile

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Client is a program whose files are read.
type Client struct {
	Name  string // as a person writes it: "vscode"
	Title string // as it calls itself: "VS Code"

	syntax syntax
	read   func(r *reader, root object)
}

// other is any program with an mcpServers object, which has become a custom of
// clients beyond those that are known here.
const other = "other"

// clients are all clients, in the order in which their servers are imported: the
// first of two that are called alike keeps the name.
func clients() []Client {
	return []Client{
		{"claude-desktop", "Claude Desktop", asWritten, readClaudeDesktop},
		{"claude-code", "Claude Code", claudeCodeSyntax, readClaudeCode},
		{"vscode", "VS Code", vscodeSyntax, readVSCode},
		{"cursor", "Cursor", vscodeSyntax, readCursor},
		{"windsurf", "Windsurf", windsurfSyntax, readWindsurf},
		{"codex", "Codex", asWritten, readCodex},
		{"gemini", "Gemini CLI", geminiSyntax, readGemini},
		{"opencode", "opencode", opencodeSyntax, readOpencode},
		{"zed", "Zed", asWritten, readZed},
		{other, "the client", anySyntax, readOther},
	}
}

// Names are the names of all clients.
func Names() (names []string) {
	for _, c := range clients() {
		if c.Name != other {
			names = append(names, c.Name)
		}
	}
	return names
}

// Named returns the client of that name.
func Named(name string) (Client, bool) {
	i := slices.IndexFunc(clients(), func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return clients()[i], true
}

// recognise tells a file's client by the table its servers are in, which nearly
// every client calls differently, and among those with mcpServers by its place.
func recognise(path string, root object) (Client, bool) {
	dir, base := filepath.Split(filepath.ToSlash(path))
	name := ""
	switch {
	case root.has("mcp_servers"):
		name = "codex"
	case root.has("context_servers"):
		name = "zed"
	case root.has("servers"), root.object("mcp").has("servers") && base == "settings.json":
		name = "vscode"
	case root.has("mcpServers"), root.has("projects"):
		switch {
		case base == "claude_desktop_config.json":
			name = "claude-desktop"
		case strings.HasPrefix(base, ".claude") || base == ".mcp.json" || root.has("projects"):
			name = "claude-code"
		case strings.HasSuffix(dir, "/.cursor/"):
			name = "cursor"
		case strings.HasSuffix(dir, "/.codeium/windsurf/"), strings.HasSuffix(dir, "/.codeium/"):
			name = "windsurf"
		case strings.HasSuffix(dir, "/.gemini/"):
			name = "gemini"
		default:
			name = other
		}
	case root.has("mcp"):
		name = "opencode"
	default:
		return Client{}, false
	}
	return Named(name)
}

// mcpServer reads an entry as most clients have it: command, args, env and cwd,
// or a url with headers. The url is the first of urlKeys that is there.
func (e *entry) mcpServer(urlKeys ...string) {
	if url, remote := e.isRemote(urlKeys...); remote {
		e.remote(url, "headers")
	} else {
		e.process("command", "args", "env")
	}
	e.Enabled = !e.flag("disabled", false)
	if e.has("envFile") {
		e.used["envFile"] = true
		e.note("envFile is not read; put the variables that the server needs into env")
	}
}

// readClaudeDesktop: mcpServers with command, args and env; nothing is expanded
// (modelcontextprotocol.io, "Connect to local MCP servers").
func readClaudeDesktop(r *reader, root object) {
	r.optional(root, "mcpServers", func(e *entry) { e.mcpServer("url") })
}

// readClaudeCode: mcpServers of the user and, in ~/.claude.json, of each project
// under projects.DIRECTORY (Claude Code docs, "Connect Claude Code to tools via
// MCP", scopes); timeout in milliseconds. Only the project of the working directory counts; Claude Code
// would start the others' servers nowhere else either.
func readClaudeCode(r *reader, root object) {
	read := func(e *entry) {
		e.mcpServer("url")
		e.Timeout = e.duration("timeout", time.Millisecond, maxTimeout)
	}
	r.optional(root, "mcpServers", read)
	projects := root.object("projects")
	for _, dir := range projects.keys {
		project := projects.object(dir)
		n := len(project.object("mcpServers").keys)
		if n == 0 {
			continue
		}
		if !within(r.around.WorkDir, dir) {
			r.note("left out: servers (%d) of the project in %s; run this in that directory to import them", n, quote(dir))
			continue
		}
		var disabled []string
		project.members["disabledMcpServers"].ForEach(func(_, v gjson.Result) bool {
			disabled = append(disabled, v.String())
			return true
		})
		r.servers("mcpServers", project.members["mcpServers"], dir, func(e *entry) {
			read(e)
			e.Enabled = e.Enabled && !slices.Contains(disabled, e.Name)
		})
	}
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	if path == "" || !filepath.IsAbs(dir) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// readCursor: mcpServers with command, args, env, envFile and cwd, or url and
// headers (Cursor docs, "Model Context Protocol").
func readCursor(r *reader, root object) {
	r.optional(root, "mcpServers", func(e *entry) { e.mcpServer("url") })
}

// readWindsurf: mcpServers with command, args and env, or serverUrl (also
// spelled url) and headers; disabled, disabledTools (Windsurf docs, "Cascade MCP
// integration", mcp_config.json).
func readWindsurf(r *reader, root object) {
	r.optional(root, "mcpServers", func(e *entry) {
		e.mcpServer("serverUrl", "url")
		e.Hidden = e.names("disabledTools")
	})
}

// readOther takes what any of the known clients with mcpServers has.
func readOther(r *reader, root object) {
	r.optional(root, "mcpServers", func(e *entry) {
		e.mcpServer("httpUrl", "serverUrl", "url")
		e.Hidden = e.names("disabledTools")
	})
}

// optional reads a table of servers that a file need not have.
func (r *reader) optional(root object, key string, read func(*entry)) {
	if root.has(key) {
		r.servers(key, root.members[key], r.Project, read)
	}
}
