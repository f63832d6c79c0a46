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
	}
}

// host reads a [host] table over what is known so far; a faulty key changes
// nothing.
func (l *loader) host(t *table) {
	t.only("log_level", "exposure", "wire_names", "response_budget", "connect_wait", "plugin_dirs")
	h := &l.cfg.Host
	h.LogLevel = t.word("log_level", h.LogLevel, "debug", "info", "warn", "error")
	if e := t.exposure("exposure"); e != "" {
		h.Exposure = e
	}
	h.WireNames = t.word("wire_names", h.WireNames, "prefixed", "plain")
	h.ResponseBudget = t.size("response_budget", h.ResponseBudget)
	if wait, ok := t.duration("connect_wait", connectWaitLimits); ok {
		h.ConnectWait = wait
	}
	if dirs := t.strs("plugin_dirs"); dirs != nil {
		h.PluginDirs = dirs
		h.dirs = dirsOrigin{file: t.file, at: t.node.key("plugin_dirs")}
	}
}

// dirsOrigin is where plugin_dirs stands: relative ones start from its file.
type dirsOrigin struct {
	file string
	at   *node
}
