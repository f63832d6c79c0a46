package config

import (
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/exposure"
)

// serverKeys are all keys of a [servers.NAME] table (docs/configuration.md), in the
// order a message lists them.
var serverKeys = []string{
	"enabled", "disabled", "plugin", "command", "args", "cwd", "env", "inherit_env", "url", "headers", "ca_file",
	"oauth", "config", "exposure", "tool_exposure", "timeout", "max_timeout", "start_timeout", "idle_timeout",
	"max_concurrent", "retry", "trust_hints", "validate_results", "consent", "on_change", "description",
}

// maxConcurrent bounds max_concurrent; more calls at once than this to one
// server are a slip of the keyboard.
const maxConcurrent = 1000

// readServer reads one entry, faulty keys as if they were not there.
func readServer(t *table) *Server {
	faults := len(t.l.cfg.Problems)
	t.only(serverKeys...)
	s := &Server{
		Enabled:     t.boolean("enabled", true) && !t.boolean("disabled", false),
		Plugin:      t.text("plugin"),
		Description: t.str("description"),

		Command:    t.text("command"),
		Args:       t.strs("args"),
		Cwd:        t.text("cwd"),
		Env:        readEnv(t),
		InheritEnv: readInheritEnv(t),
		URL:        readURL(t),
		Headers:    readHeaders(t),
		CAFile:     t.text("ca_file"),
		OAuth:      t.json("oauth"),
		Config:     t.json("config"),

		Rules:         readRules(t),
		MaxConcurrent: t.count("max_concurrent", maxConcurrent),

		Retry:           t.word("retry", "safe", "safe", "always", "never"),
		TrustHints:      t.boolean("trust_hints", false),
		ValidateResults: t.word("validate_results", "warn", "off", "warn", "strict"),
		OnChange:        t.word("on_change", "warn", "warn", "block"),
		Consent:         readConsent(t),
	}
	s.Timeout, _ = t.duration("timeout", timeoutLimits)
	s.MaxTimeout, _ = t.duration("max_timeout", maxTimeoutLimits)
	s.StartTimeout, _ = t.duration("start_timeout", startLimits)
	s.IdleTimeout, _ = t.duration("idle_timeout", idleLimits)
	if t.has("enabled") && t.has("disabled") {
		t.fault("disabled", "enabled and disabled may not both be set; remove one of them")
	}
	if s.MaxTimeout != 0 && s.MaxTimeout < s.Timeout {
		t.fault("max_timeout", "is shorter than timeout; it bounds all attempts together, make it at least %s", quote(t.str("timeout")))
	}
	checkReach(t, s, len(t.l.cfg.Problems) > faults)
	return s
}

// genericPlugin is the name of the adapter that entries without plugin use;
// naming it is the same as naming none.
const genericPlugin = "mcp"

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
	if s.Plugin == genericPlugin {
		s.Plugin = ""
	}
	if !isPath(s.Plugin) && strings.Trim(s.Plugin, pluginChars) != "" {
		t.fault("plugin", `%s is not a plugin's name; write the part of its file name after "collet-plugin-", or a path with a slash`, quote(s.Plugin))
	}
	processKeys := []string{"args", "cwd", "inherit_env"}
	remoteKeys := []string{"headers", "ca_file"}
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

const pluginChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

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
		if k == "" || strings.ContainsAny(k, "=\x00") {
			t.table("env").fault(k, "is not a variable's name; it may not be empty or hold =")
		}
	}
	return env
}

func readHeaders(t *table) map[string]string {
	headers := t.strMap("headers")
	for k := range headers {
		if k == "" || strings.ContainsFunc(k, func(r rune) bool { return !isToken(r) }) {
			t.table("headers").fault(k, "is not a header's name; use letters, digits and -")
		}
	}
	return headers
}

// isToken reports whether r may be in a header's name (RFC 9110 section 5.6.2).
func isToken(r rune) bool {
	return r < 0x80 && (isBare(byte(r)) || strings.ContainsRune("!#$%&'*+.^`|~", r))
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

// readRules reads exposure and tool_exposure.
func readRules(t *table) exposure.Rules {
	r := exposure.Rules{Default: t.exposure("exposure")}
	tools := t.table("tool_exposure")
	if tools == nil {
		return r
	}
	for _, pattern := range tools.perTool() {
		r.Tools = append(r.Tools, exposure.Pattern{Pattern: pattern, Exposure: tools.exposure(pattern)})
	}
	return r
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

// readConsent reads a word for the whole server, or a table of patterns.
func readConsent(t *table) Consent {
	words := []string{"ask", "allow", "deny"}
	if _, ok := t.values["consent"].(map[string]any); !ok {
		return Consent{Default: t.word("consent", "", words...)}
	}
	tools := t.table("consent")
	var c Consent
	for _, pattern := range tools.perTool() {
		c.Tools = append(c.Tools, ConsentRule{pattern, tools.word(pattern, "", words...)})
	}
	return c
}

func (t *table) isString(key string) bool {
	_, ok := t.values[key].(string)
	return ok
}
