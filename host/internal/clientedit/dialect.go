package clientedit

import (
	"errors"
	"path/filepath"

	"github.com/collet-dev/collet/host/internal/clientfile"
)

// dialect is how a client writes an entry down.
type dialect struct {
	toml     bool
	servers  string // the table of servers
	kind     bool   // entries say their type: stdio or http
	url      string // the key of a URL; "" when the client can start servers only
	variable string // how a value names a variable, with % for its name; "" when it cannot
}

// dialects are the clients that can be connected. The keys are those that clientfile
// reads, and what is said of them there holds here. opencode is not among them: its
// versions 1 and 2 want their servers in different tables.
var dialects = map[string]dialect{
	"claude-desktop": {servers: "mcpServers"},
	"claude-code":    {servers: "mcpServers", kind: true, url: "url", variable: "${%}"},
	"vscode":         {servers: "servers", kind: true, url: "url", variable: "${env:%}"},
	"cursor":         {servers: "mcpServers", url: "url", variable: "${env:%}"},
	"windsurf":       {servers: "mcpServers", url: "serverUrl", variable: "${env:%}"},
	"codex":          {servers: "mcp_servers", url: "url", toml: true},
	"gemini":         {servers: "mcpServers", url: "httpUrl", variable: "${%}"},
	"zed":            {servers: "context_servers", url: "url"},
}

// member is a key of an object with its value: a string, a []string or []member.
type member struct {
	key   string
	value any
}

func (d dialect) entry(e Entry) (list []member, err error) {
	if e.URL == "" {
		if d.kind {
			list = append(list, member{"type", "stdio"})
		}
		return append(list, member{"command", e.Command}, member{"args", e.Args}), nil
	}
	if d.url == "" {
		return nil, errors.New("the client can only start servers: leave --url away, or add the URL as a connector in its settings")
	}
	if d.kind {
		list = append(list, member{"type", "http"})
	}
	list = append(list, member{d.url, e.URL})
	switch {
	case e.TokenEnv == "":
	case d.toml:
		list = append(list, member{"bearer_token_env_var", e.TokenEnv})
	case d.variable == "":
		return nil, errors.New("the client reads no variables: leave --token-env away and write the header into its file yourself")
	default:
		list = append(list, member{"headers", []member{{"Authorization", "Bearer " + replaced(d.variable, e.TokenEnv)}}})
	}
	return list, nil
}

func replaced(pattern, name string) string {
	for i := range pattern {
		if pattern[i] == '%' {
			return pattern[:i] + name + pattern[i+1:]
		}
	}
	return pattern
}

// others are the keys that mean another way to a server than e's.
func (d dialect) others(e Entry) []string {
	if e.URL == "" {
		return []string{"url", "serverUrl", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers"}
	}
	return []string{"command", "args", "env", "env_vars", "envFile", "cwd"}
}

// Choose is the file of a client to change: the project's, or the user's own. Of
// several of the user's it is the first whose directory is there, for clients make
// theirs when they first run. exists tells whether a directory is there.
func Choose(places []clientfile.Place, client string, project bool, exists func(dir string) bool) (clientfile.Place, bool) {
	var fit []clientfile.Place
	for _, p := range places {
		old := client == "vscode" && filepath.Base(p.Path) == "settings.json" // where its servers were before mcp.json
		if p.Client == client && p.Project == project && !old {
			fit = append(fit, p)
		}
	}
	for _, preferred := range []bool{true, false} {
		for _, p := range fit {
			if p.Preferred == preferred && exists(filepath.Dir(p.Path)) {
				return p, true
			}
		}
	}
	if len(fit) == 0 {
		return clientfile.Place{}, false
	}
	return fit[0], true
}
