package config

import (
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
)

func defaultHost() Host {
	return Host{
		Exposure:       exposure.Codemode,
		WireNames:      "prefixed",
		ResponseBudget: 256 << 10,
		ConnectWait:    10 * time.Second,
		Daemon:         "off",
		DaemonIdle:     10 * time.Minute,
		Codemode:       defaultCodemode(),
		Telemetry:      Telemetry{Metrics: "off"},
	}
}

// hostKeys are all keys of [host].
var hostKeys = []key[Host]{
	word("log_level", "what collet logs to stderr; each command has its own default", "",
		func(h *Host) *string { return &h.LogLevel }, "debug", "info", "warn", "error"),
	{"exposure", "the exposure of servers that do not set their own; in a project's file, only for its own servers", enum(exposureWords), `"codemode"`,
		func(t *table, h *Host) {
			if e := t.exposure("exposure"); e != "" {
				h.Exposure = e
			}
		}},
	word("wire_names", "tool names that model clients see: prefixed is server__tool; plain is the tool alone, for a host with one server", "prefixed",
		func(h *Host) *string { return &h.WireNames }, "prefixed", "plain"),
	{"response_budget", "the largest result that a model gets in full: 1KiB to 64MiB", `"type":"string","pattern":` + quoteJSON(sizePattern), `"256KiB"`,
		func(t *table, h *Host) { h.ResponseBudget = t.size("response_budget", h.ResponseBudget, budgetLimits) }},
	connectWait,
	word("daemon", "auto: the first command starts a host in the background, which later commands use", "off",
		func(h *Host) *string { return &h.Daemon }, "off", "auto"),
	daemonIdle,
	{"plugin_dirs", "directories to search for plugins first; has no effect in a project's file", `"type":"array","items":{"type":"string"}`, `[]`,
		func(t *table, h *Host) {
			if t.layer == Project && t.has("plugin_dirs") {
				// A plugin found there would get the credentials of the user's servers.
				t.fault("plugin_dirs", `has no effect in a project's file; name a plugin by its path instead: plugin = "./bin/collet-plugin-x"`)
				return
			}
			if dirs := t.strs("plugin_dirs"); dirs != nil {
				h.PluginDirs = dirs
			}
		}},
	{codemode, "limits for scripts; has no effect in a project's file",
		`"type":"object","additionalProperties":false,"properties":` + properties(codemodeKeys), "", readCodemode},
	{telemetry, "what collet records about calls; has no effect in a project's file",
		`"type":"object","additionalProperties":false,"properties":` + properties(telemetryKeys), "", readTelemetry},
}

var connectWait = func() key[Host] {
	k := duration("connect_wait", "how long a model client's first list or search waits for starting servers that have no snapshot", connectWaitLimits,
		func(h *Host) *time.Duration { return &h.ConnectWait })
	k.unsaid = `"10s"`
	return k
}()

var daemonIdle = func() key[Host] {
	k := duration("daemon_idle", "how long a host in the background keeps running when nothing uses it", daemonIdleLimits,
		func(h *Host) *time.Duration { return &h.DaemonIdle })
	k.unsaid = `"10m"`
	return k
}()

// said is a [host] key as a file says it.
type said struct {
	Place
	value any
	at    *node
}

// host reads a [host] table over what is known so far; a faulty key changes
// nothing.
func (l *loader) host(t *table) {
	say(t, hostKeys, &l.cfg.Host, &l.cfg.Host, "")
}

// say reads the keys of a table of h, keeping where each is said under its name
// behind prefix.
func say[T any](t *table, keys []key[T], to *T, h *Host, prefix string) {
	t.only(names(keys)...)
	for _, k := range keys {
		faults := len(t.l.cfg.Problems)
		if !t.has(k.name) {
			continue
		}
		k.read(t, to)
		if len(t.l.cfg.Problems) > faults {
			continue
		}
		if h.said == nil {
			h.said = map[string]said{}
		}
		at := t.node.key(k.name)
		h.said[prefix+k.name] = said{Place{t.file, at.at().line, t.layer}, t.values[k.name], at}
	}
}
