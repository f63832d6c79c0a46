package clientfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// input is a question that VS Code asks before it starts a server.
type input struct{ description, fallback string }

// readVSCode: servers with type, command, args, env, envFile and cwd, or url and
// headers; inputs are questions that ${input:ID} stands for (VS Code docs, "MCP
// configuration reference"). In settings.json, where they were before mcp.json,
// both are below mcp.
func readVSCode(r *reader, root object) {
	if !root.has("servers") {
		root = root.object("mcp")
	}
	r.inputs = map[string]input{}
	root.members["inputs"].ForEach(func(_, v gjson.Result) bool {
		if in, ok := asObject(v); ok {
			r.inputs[in.members["id"].String()] = input{in.members["description"].String(), in.members["default"].String()}
		}
		return true
	})
	r.optional(root, "servers", func(e *entry) { e.mcpServer("url") })
}

// readGemini: mcpServers with command, args, env and cwd, or httpUrl or url (SSE)
// and headers, in that order the first that is there; timeout in milliseconds,
// trust, description, includeTools, excludeTools. mcp.allowed and mcp.excluded
// name servers (Gemini CLI docs, "MCP servers with the Gemini CLI").
func readGemini(r *reader, root object) {
	mcp := root.object("mcp")
	allowed, excluded := words(mcp.members["allowed"]), words(mcp.members["excluded"])
	r.optional(root, "mcpServers", func(e *entry) {
		if url := firstOf(e.object, "httpUrl", "url"); url != "" {
			e.used["type"] = true
			e.remote(url, "headers")
		} else {
			e.process("command", "args", "env")
		}
		e.Description = e.plain("description")
		e.Timeout = e.duration("timeout", time.Millisecond, maxTimeout)
		e.Only, e.Hidden = e.names("includeTools"), e.names("excludeTools")
		e.Enabled = (allowed == nil || slices.Contains(allowed, e.Name)) && !slices.Contains(excluded, e.Name)
	})
}

// firstOf is the first of keys that holds text.
func firstOf(o object, keys ...string) string {
	for _, k := range keys {
		if v := o.members[k]; v.Type == gjson.String && v.Str != "" {
			return k
		}
	}
	return ""
}

// words are the strings of an array, nil when it is none.
func words(v gjson.Result) (list []string) {
	if !v.IsArray() {
		return nil
	}
	list = []string{}
	for _, item := range v.Array() {
		list = append(list, item.String())
	}
	return list
}

// readCodex: TOML tables mcp_servers.NAME with command, args, env, env_vars and
// cwd, or url, http_headers, env_http_headers (a header's value is in the named
// variable) and bearer_token_env_var; enabled, startup_timeout_sec (also _ms),
// tool_timeout_sec, enabled_tools, disabled_tools. Nothing is expanded (Codex
// docs, "Model Context Protocol", config.toml).
func readCodex(r *reader, root object) {
	r.optional(root, "mcp_servers", func(e *entry) {
		if firstOf(e.object, "command") != "" {
			e.process("command", "args", "env")
			e.used["env_vars"] = true // names of variables to pass on; mcp.toml passes on all of them
		} else {
			e.remote("url", "http_headers")
			e.codexHeaders()
		}
		e.Enabled = e.flag("enabled", true)
		e.StartTimeout = e.duration("startup_timeout_ms", time.Millisecond, maxStartTimeout)
		if e.has("startup_timeout_sec") {
			e.StartTimeout = e.duration("startup_timeout_sec", time.Second, maxStartTimeout)
		}
		e.Timeout = e.duration("tool_timeout_sec", time.Second, maxTimeout)
		e.Only, e.Hidden = e.names("enabled_tools"), e.names("disabled_tools")
	})
}

// codexHeaders reads the headers whose values are in variables.
func (e *entry) codexHeaders() {
	if v, ok := e.take("env_http_headers"); ok {
		headers, _ := asObject(v)
		for _, k := range headers.keys {
			value := e.variable("env_http_headers."+k, piece{kind: variable, text: headers.members[k].String()})
			e.Headers = append(e.Headers, Pair{k, value})
		}
	}
	authorization := ""
	if v, ok := e.take("bearer_token"); ok {
		authorization = "Bearer " + escape(v.String())
	}
	if v, ok := e.take("bearer_token_env_var"); ok {
		authorization = "Bearer " + e.variable("bearer_token_env_var", piece{kind: variable, text: v.String()})
	}
	if authorization != "" {
		e.Headers = append(e.Headers, Pair{"Authorization", authorization})
	}
}

// readOpencode: mcp.NAME with type local, command (an array), environment and
// cwd, or type remote, url and headers; enabled, timeout in milliseconds
// (opencode docs, "MCP servers"). Its second version has the same below
// mcp.servers, with disabled and a timeout of two parts.
func readOpencode(r *reader, root object) {
	mcp := root.object("mcp")
	if servers, ok := asObject(mcp.members["servers"]); ok && !servers.has("type") && !servers.has("command") {
		r.servers("mcp.servers", mcp.members["servers"], r.Project, (*entry).opencode)
		return
	}
	r.servers("mcp", root.members["mcp"], r.Project, (*entry).opencode)
}

func (e *entry) opencode() {
	if _, remote := e.isRemote("url"); remote {
		e.remote("url", "headers")
	} else {
		e.opencodeCommand()
	}
	e.Enabled = e.flag("enabled", true) && !e.flag("disabled", false)
	if timeout, ok := asObject(e.members["timeout"]); ok {
		e.used["timeout"] = true
		if v := timeout.members["startup"]; v.Exists() {
			e.StartTimeout = e.within("timeout.startup", v, time.Millisecond, maxStartTimeout)
		}
		if v := timeout.members["request"]; v.Exists() {
			e.Timeout = e.within("timeout.request", v, time.Millisecond, maxTimeout)
		}
	} else {
		e.Timeout = e.duration("timeout", time.Millisecond, maxTimeout)
	}
	if e.members["oauth"].Type == gjson.False {
		e.used["oauth"] = true
	}
}

// opencodeCommand reads a command with its arguments in one array.
func (e *entry) opencodeCommand() {
	v, ok := e.take("command")
	if !ok {
		return
	}
	if v.Type == gjson.String {
		e.Command = e.path("command", e.scalar("command", v), true)
	} else {
		for i, word := range e.list("command", v) {
			if i == 0 {
				e.Command = e.path("command[0]", word, true)
				continue
			}
			e.Args = append(e.Args, e.value(fmt.Sprintf("command[%d]", i), word, false))
		}
	}
	e.Env = e.pairs("environment", true)
	e.workDir("cwd")
}

// readZed: context_servers with command, args and env, or url and headers;
// enabled, timeout in seconds. A server of an extension has settings and nothing
// to start (Zed docs, "Model Context Protocol"). Before, command was an object
// with path, args and env.
func readZed(r *reader, root object) {
	r.optional(root, "context_servers", func(e *entry) {
		e.used["source"] = true
		e.Enabled = e.flag("enabled", true)
		e.Timeout = e.duration("timeout", time.Second, maxTimeout)
		if command, ok := asObject(e.members["command"]); ok {
			e.used["command"] = true
			for k, v := range command.members {
				e.members["command."+k] = v
			}
			for _, k := range command.keys {
				e.keys = append(e.keys, "command."+k)
			}
			e.process("command.path", "command.args", "command.env")
			return
		}
		if _, remote := e.isRemote("url"); remote {
			e.remote("url", "headers")
		} else {
			e.process("command", "args", "env")
		}
	})
}
