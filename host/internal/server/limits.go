package server

import (
	"cmp"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
)

// Limits are the times that apply to a server's calls, defaults filled in.
type Limits struct {
	Timeout    time.Duration // one attempt; progress restarts it
	MaxTimeout time.Duration // attempts, waits and progress together
}

// The defaults where neither mcp.toml nor the plugin says otherwise. Starting
// may mean that a package runner is still downloading, so it gets longer.
const (
	defaultTimeout      = 30 * time.Second
	defaultStartTimeout = 60 * time.Second
	maxTimeoutFactor    = 10
	maxTimeoutCap       = time.Hour
)

// Limits are the times of calls under set, an entry that Settings returned.
// Before the plugin was described for the first time, its own defaults are not
// in them.
func (s *Server) Limits(set *config.Server) Limits {
	return limits(set, time.Duration(s.own.Load()))
}

// limits fills in what mcp.toml leaves open; own is the plugin's default
// timeout, zero when it has none.
func limits(set *config.Server, own time.Duration) Limits {
	l := Limits{Timeout: cmp.Or(set.Timeout, own, defaultTimeout), MaxTimeout: set.MaxTimeout}
	if l.MaxTimeout == 0 {
		l.MaxTimeout = min(maxTimeoutFactor*l.Timeout, maxTimeoutCap)
	}
	// Whoever bounds the whole bounds its parts: max_timeout = "5s" alone must not
	// mean the default of half a minute.
	l.Timeout = min(l.Timeout, l.MaxTimeout)
	return l
}
