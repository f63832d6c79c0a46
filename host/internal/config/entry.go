package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
)

// serverKeys are all keys of a [servers.NAME] table.
var serverKeys = []key[Server]{
	{"enabled", "whether the server is used at all", `"type":"boolean"`, "true",
		func(t *table, s *Server) { s.Enabled = t.boolean("enabled", true) }},
	{"disabled", "the opposite of enabled; set only one of them", `"type":"boolean"`, "",
		func(t *table, s *Server) { s.Enabled = s.Enabled && !t.boolean("disabled", false) }},
	{"plugin", `the NAME of collet-plugin-NAME, or a path if it contains a slash`, `"type":"string","pattern":` + quoteJSON(pluginPattern.String()+`|[/\\]`), "",
		func(t *table, s *Server) { s.Plugin = readPlugin(t) }},
	text("command", "a program that speaks MCP over stdio", func(s *Server) *string { return &s.Command }),
	strs("args", "the command's arguments", func(s *Server) *[]string { return &s.Args }),
	text("cwd", "the directory that the command runs in (default: the directory of this file)", func(s *Server) *string { return &s.Cwd }),
	{"env", "environment variables for the command, or for the plugin if there is one", namedStrings(envPattern), "",
		func(t *table, s *Server) { s.Env = readEnv(t) }},
	{"inherit_env", "which variables of the environment a command sees: true is all, false a short list, and names are added to that list",
		`"anyOf":[{"type":"boolean"},{"type":"array","items":{"type":"string"}}]`, "true",
		func(t *table, s *Server) { s.InheritEnv = readInheritEnv(t) }},
	{"url", "the address of a server that speaks MCP over HTTP", `"type":"string","pattern":` + quoteJSON(urlPattern), "",
		func(t *table, s *Server) { s.URL = readURL(t) }},
	{"headers", "headers to send with every request", namedStrings(headerPattern), "",
		func(t *table, s *Server) { s.Headers = readHeaders(t) }},
	text("ca_file", "a file of certificates (PEM) to trust for url, in addition to the system's", func(s *Server) *string { return &s.CAFile }),
	{"oauth", "how to get tokens for the server",
		`"type":"object","additionalProperties":false,"dependencies":{"client_secret":["client_id"]},"properties":` + properties(oauthKeys), "", readOAuth},
	{"config", "the plugin's own settings", `"type":"object"`, "", func(t *table, s *Server) { s.Config = t.json("config") }},
	{"exposure", "the exposure of the server's tools (default: exposure of [host])", enum(exposureWords), "",
		func(t *table, s *Server) { s.Rules.Default = t.exposure("exposure") }},
	{"tool_exposure", "exposure by tool name or pattern (*, ?): an exact name wins, then the first matching pattern in the file", perToolShape(exposureWords), "",
		func(t *table, s *Server) { s.Rules.Tools = readRules(t) }},
	duration("timeout", "how long one attempt of a call may be silent", timeoutLimits, func(s *Server) *time.Duration { return &s.Timeout }),
	duration("max_timeout", "how long a call may take with all attempts and waits (default: ten times timeout)", maxTimeoutLimits,
		func(s *Server) *time.Duration { return &s.MaxTimeout }),
	duration("start_timeout", "how long the server may take from its start to its first list of tools", startLimits, func(s *Server) *time.Duration { return &s.StartTimeout }),
	duration("idle_timeout", "stop the server when nothing has used it for this long (default: never)", idleLimits,
		func(s *Server) *time.Duration { return &s.IdleTimeout }),
	count("max_concurrent", "how many calls the server gets at once (default: no limit)", maxConcurrent, func(s *Server) *int { return &s.MaxConcurrent }),
	word("retry", "when collet makes a second attempt at a failed call", "safe", func(s *Server) *string { return &s.Retry }, "safe", "always", "never"),
	boolean("trust_hints", "believe the server's own readOnlyHint and idempotentHint when deciding on a retry",
		func(s *Server) *bool { return &s.TrustHints }),
	word("validate_results", "whether to check results against the tool's output schema", "warn",
		func(s *Server) *string { return &s.ValidateResults }, "off", "warn", "strict"),
	{"consent", "whether a person is asked before a call: a word, or a table by tool name or pattern",
		`"anyOf":[{` + enum(consentWords) + `},{` + perToolShape(consentWords) + `}]`, "",
		func(t *table, s *Server) { s.Consent = readConsent(t) }},
	word("on_change", "what to do with a tool that its server rewrote after it was accepted", "warn",
		func(s *Server) *string { return &s.OnChange }, "warn", "block"),
	str("description", "one line about the server, for people and models", func(s *Server) *string { return &s.Description }),
}

// maxConcurrent bounds max_concurrent; more calls at once than this to one
// server are a slip of the keyboard.
const maxConcurrent = 1000

// readServer reads one entry, faulty keys as if they were not there.
func readServer(t *table) *Server {
	faults := len(t.l.cfg.Problems)
	t.only(names(serverKeys)...)
	s := &Server{}
	for _, k := range serverKeys {
		k.read(t, s)
	}
	t.checkSwitch()
	if s.MaxTimeout != 0 && s.MaxTimeout < s.Timeout {
		t.fault("max_timeout", "is shorter than timeout; it bounds all attempts together, make it at least %s", quote(t.str("timeout")))
	}
	checkReach(t, s, len(t.l.cfg.Problems) > faults)
	return s
}

func (t *table) checkSwitch() {
	if t.has("enabled") && t.has("disabled") {
		t.fault("disabled", "enabled and disabled may not both be set; remove one of them")
	}
}

// genericPlugin is the name of the adapter that entries without plugin use;
// naming it is the same as naming none.
const genericPlugin = "mcp"

// Keys that go with one way to reach a server only.
var (
	processKeys = []string{"args", "cwd", "inherit_env"}
	remoteKeys  = []string{"headers", "ca_file"}
)

// checkReach checks that exactly one of plugin, command and url says how the
// server is reached, and that the other keys go with it. A missing one is not
// reported beside other faults: it is then most likely the misspelled one.
func checkReach(t *table, s *Server, faulty bool) {
	refuse := func(keys []string, format string, args ...any) {
		for _, k := range keys {
			if t.has(k) {
				t.fault(k, format, args...)
			}
		}
	}
	switch command, url := t.has("command"), t.has("url"); {
	case s.Plugin != "":
		refuse(slices.Concat([]string{"command", "url"}, processKeys, remoteKeys),
			"does not go with plugin = %s, which decides itself what it starts or connects to; remove it, or put its settings into config", quote(s.Plugin))
	case t.has("plugin") && !t.isString("plugin"):
		// Reported already; what goes with it is unknown.
	case command && url:
		t.fault("url", "command and url may not both be set; keep command to start a program, url to reach a server that runs already")
	case command:
		refuse(remoteKeys, "goes with url, not with command; remove it")
	case url:
		refuse(processKeys, "goes with command, not with url; remove it")
	case !faulty:
		t.faultAt(t.node, t.path, "nothing says how to reach this server; set command (a program), url (a running server) or plugin")
	}
	if s.Plugin == "" && (t.has("command") || t.has("url")) && t.has("config") {
		t.fault("config", "holds the settings of a named plugin; with command or url write them as args, env or headers, or set plugin")
	}
}

// Patterns of names. The schema shows them to editors.
var (
	pluginPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	envPattern    = regexp.MustCompile(`^[^=\x00]+$`)
	headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^`|~_-]+$") // RFC 9110 section 5.6.2
)

// readPlugin reads a name or a path; that of the generic adapter is "".
func readPlugin(t *table) string {
	plugin := t.text("plugin")
	if plugin != "" && !isPath(plugin) && !pluginPattern.MatchString(plugin) {
		t.fault("plugin", `%s is not a plugin's name; write the part of its file name after "collet-plugin-", or a path with a slash`, quote(plugin))
	}
	if plugin == genericPlugin {
		return ""
	}
	return plugin
}

// urlPattern lets variables pass: what they hold is seen when the server starts.
const urlPattern = `^https?://[^/?#]|\$`

// readURL checks what can be known before variables are expanded; Resolve
// checks the rest.
func readURL(t *table) string {
	url := t.text("url")
	if url != "" && !strings.Contains(url, "$") && !isHTTP(url) {
		t.fault("url", "must be an address that begins with http:// or https:// and names a host")
	}
	return url
}

func readEnv(t *table) map[string]string {
	env := t.strMap("env")
	for k := range env {
		if !envPattern.MatchString(k) {
			t.table("env").fault(k, "is not a variable's name; it may not be empty or hold =")
		}
	}
	return env
}

func readHeaders(t *table) map[string]string {
	headers := t.strMap("headers")
	for k := range headers {
		if !headerPattern.MatchString(k) {
			t.table("headers").fault(k, "is not a header's name; use letters, digits and -")
		}
	}
	return headers
}

func readInheritEnv(t *table) InheritEnv {
	switch v := t.values["inherit_env"].(type) {
	case nil:
		return InheritEnv{All: true}
	case bool:
		return InheritEnv{All: v}
	case []any:
		return InheritEnv{Names: t.strs("inherit_env")}
	}
	t.wrongType("inherit_env", "true, false or an array of names", `write inherit_env = ["NAME"]`)
	return InheritEnv{All: true}
}

// readRules reads tool_exposure.
func readRules(t *table) (rules []exposure.Pattern) {
	tools := t.table("tool_exposure")
	if tools == nil {
		return nil
	}
	for _, pattern := range tools.perTool() {
		rules = append(rules, exposure.Pattern{Pattern: pattern, Exposure: tools.exposure(pattern)})
	}
	return rules
}

// perTool are the keys of a table of tools, in file order: names and patterns.
func (t *table) perTool() (patterns []string) {
	for _, p := range order(t.values, t.node) {
		switch _, isTable := t.values[p].(map[string]any); {
		case isTable:
			t.fault(p, `is a table; put a tool's name that holds a dot in quotes: "a.b" = ...`)
		case p == "":
			t.fault(p, `is no tool's name; write one, or a pattern such as "delete_*"`)
		default:
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// exposure is an exposure word, or "" when not said.
func (t *table) exposure(key string) exposure.Exposure {
	w := t.str(key)
	if !t.isString(key) {
		return ""
	}
	e, err := exposure.Parse(w)
	if err != nil {
		t.fault(key, "%s", err)
	}
	return e
}

func (t *table) isString(key string) bool {
	_, ok := t.values[key].(string)
	return ok
}
