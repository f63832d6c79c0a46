package config

import (
	"context"
	"encoding/json"
	"time"
)

// Hook is one [hooks.NAME] entry: a plugin that stands between the host and the
// servers. Text is as written; Resolve expands it.
type Hook struct {
	Name  string
	File  string // as its Source names it
	Line  int    // of the entry's table
	Dir   string // absolute directory of File
	Layer Layer

	Enabled bool
	Plugin  string // a name, or a path when it holds a slash
	// Config is a TOML table as a JSON object, nil when not said.
	Config json.RawMessage
	Env    map[string]string
	// Timeout bounds one answer of the hook. Default 5 s.
	Timeout time.Duration
	OnError string   // "closed" (default) or "open"
	Tools   []string // patterns of server/tool; default: all

	at     *node
	values map[string]any
}

// Resolve expands env, config and a plugin's path as Server.Resolve does.
func (h *Hook) Resolve(ctx context.Context, r Resolver) (*Resolved, error) {
	return h.entry().Resolve(ctx, r)
}

// References lists what values of the entry name, as Server.References does.
func (h *Hook) References(r Resolver) []Reference { return h.entry().References(r) }

func (h *Hook) entry() *Server {
	return &Server{
		Name: h.Name, File: h.File, Line: h.Line, Dir: h.Dir, Enabled: h.Enabled,
		Plugin: h.Plugin, Config: h.Config, Env: h.Env, at: h.at, parent: hooks,
	}
}

// hooks is the table that Hooks are read from.
const hooks = "hooks"

// What becomes of what a hook was asked about when it does not work.
const (
	OnErrorClosed = "closed" // it fails
	OnErrorOpen   = "open"   // it goes on as if there were no hook
)

const defaultHookTimeout = 5 * time.Second

var hookTimeoutLimits = limits{100 * time.Millisecond, 60 * time.Second, "100ms to 60s"}

// hookKeys are all keys of a [hooks.NAME] table.
var hookKeys = []key[Hook]{
	{"enabled", "whether the hook is asked", `"type":"boolean"`, "true",
		func(t *table, h *Hook) { h.Enabled = t.boolean("enabled", true) }},
	{"plugin", `the NAME of collet-plugin-NAME, or a path if it contains a slash`, `"type":"string","pattern":` + quoteJSON(pluginPattern.String()+`|[/\\]`), "",
		func(t *table, h *Hook) { h.Plugin = readPlugin(t) }},
	{"config", "the hook's own settings", `"type":"object"`, "", func(t *table, h *Hook) { h.Config = t.json("config") }},
	{"env", "environment variables for the hook's process", namedStrings(envPattern), "", func(t *table, h *Hook) { h.Env = readEnv(t) }},
	hookTimeout,
	word("on_error", "what happens to a call if the hook does not work: closed fails it, open lets it pass", OnErrorClosed,
		func(h *Hook) *string { return &h.OnError }, OnErrorClosed, OnErrorOpen),
	strs("tools", "the tools that the hook is asked about, as patterns (*, ?) of server/tool (default: all)", func(h *Hook) *[]string { return &h.Tools }),
}

var hookTimeout = func() key[Hook] {
	k := duration("timeout", "how long one answer of the hook may take", hookTimeoutLimits, func(h *Hook) *time.Duration { return &h.Timeout })
	k.unsaid = `"5s"`
	return k
}()

// hooks reads the [hooks] table. Hooks see every call and every result, those of
// the user's own servers included, so a project's file cannot bring one.
func (l *loader) hooks(top *table) {
	if top.layer == Project && top.has(hooks) {
		top.fault(hooks, "has no effect in a project's file; write it into your own mcp.toml")
		return
	}
	all := top.table(hooks)
	if all == nil {
		return
	}
	for _, name := range order(all.values, all.node) {
		l.hook(all, name)
	}
}

// hook reads one entry and keeps it if it has no fault.
func (l *loader) hook(all *table, name string) {
	faults := len(l.cfg.Problems)
	if !pluginPattern.MatchString(name) {
		all.fault(name, "is not a hook's name; use letters, digits, ., _ and -")
	}
	for _, other := range l.cfg.Hooks {
		if other.Name == name {
			all.fault(name, "is already defined at %s; remove one of them", Place{other.File, other.Line, all.layer})
		}
	}
	t := all.table(name)
	if t == nil {
		return
	}
	t.only(names(hookKeys)...)
	h := &Hook{Name: name, File: t.file, Layer: t.layer, Line: t.node.at().line, Dir: directory(t.file), Timeout: defaultHookTimeout, at: t.node, values: t.values}
	for _, k := range hookKeys {
		k.read(t, h)
	}
	if h.Plugin == "" && len(l.cfg.Problems) == faults {
		t.faultAt(t.node, t.path, "nothing says which hook this is; set plugin")
	}
	if len(l.cfg.Problems) == faults {
		l.cfg.Hooks = append(l.cfg.Hooks, h)
	}
}
