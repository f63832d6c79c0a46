// Package config reads mcp.toml files into a Config: every key checked for name,
// type and value, every fault a Problem with its line, every entry without a
// fault usable. It also resolves the variables, commands and paths of one
// server's entry, when that server starts.
//
// It reads the files it is given and nothing else: it does not look for files,
// writes none, runs nothing itself, knows no plugin and no server, and expands
// nothing when a file is read.
package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
)

// Config is what the files say.
type Config struct {
	// Files are the files that were read, the skipped ones included, lowest layer first.
	Files []string
	// Host is the [host] table, with defaults for what is not said or was faulty.
	Host Host
	// Servers are the usable entries in file order, disabled ones included.
	Servers []*Server
	// Hooks are the usable [hooks] entries in file order, disabled ones included.
	Hooks []*Hook
	// Problems are all faults, by file and line.
	Problems []Problem
}

// Server returns the usable entry of that exact name, or nil.
func (c *Config) Server(name string) *Server {
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Host is the [host] table.
type Host struct {
	LogLevel       string            // "debug", "info", "warn" or "error"; "" when not said: each command has its own default
	Exposure       exposure.Exposure // of servers that do not say; default codemode
	WireNames      string            // "prefixed" (default) or "plain"
	ResponseBudget int64             // bytes; default 256 KiB
	ConnectWait    time.Duration     // default 10 s
	Daemon         string            // "off" (default) or "auto": the first command starts a host that the next ones use
	DaemonIdle     time.Duration     // how long such a host stays without anybody; default 10 min
	// PluginDirs are unresolved text, in file order; see ResolvePluginDirs.
	PluginDirs []string
	Codemode   Codemode
	Telemetry  Telemetry

	said map[string]said // the keys that a file says, by name
}

// Server is one [servers.NAME] entry. Text is as written; Resolve expands it.
type Server struct {
	Name  string
	File  string // as its Source names it
	Line  int    // of the entry's table
	Dir   string // absolute directory of File
	Layer Layer

	Enabled     bool
	Plugin      string // a name, or a path when it holds a slash; "" is the generic adapter
	Description string

	Command    string
	Args       []string
	Cwd        string
	Env        map[string]string
	InheritEnv InheritEnv
	URL        string
	Headers    map[string]string
	CAFile     string

	// OAuth and Config are TOML tables as JSON objects, nil when not said: keys in
	// file order, numbers as written, datetimes as RFC 3339 strings.
	OAuth, Config json.RawMessage

	Rules exposure.Rules

	// Durations are 0 when not said: the plugin's own default counts then.
	Timeout, MaxTimeout, StartTimeout, IdleTimeout time.Duration
	MaxConcurrent                                  int // 0 when not said

	Retry           string  // "safe" (default), "always" or "never"
	TrustHints      bool    // default false
	ValidateResults string  // "off", "warn" (default) or "strict"
	OnChange        string  // "warn" (default) or "block"
	Consent         Consent //

	parent string         // the table that it is in, "servers" when empty
	at     *node          // positions of the entry's keys; nil in an entry made by hand
	values map[string]any // the entry as the TOML library reads it
	over   *table         // the entry of a project that overrides parts of this one, or nil
	under  *Consent       // what the user's entry of that name says where a project says it too, or nil
	// inherited is where [host] says the exposure of an entry that does not.
	inherited Place
}

// InheritEnv says what a command child sees of the host's environment: all of
// it (the default), or the short list and the named variables.
type InheritEnv struct {
	All   bool
	Names []string
}

// Problem is one fault of a configuration file.
type Problem struct {
	File string // as its Source names it
	// Line and Column (in bytes) count from 1; 0 when the fault has no place.
	Line, Column int
	Server       string // "" when the fault is not one server's
	Key          string // dotted, as TOML spells it; "" when the file as a whole is at fault
	Message      string // what is wrong and what to do
}

// Error is "mcp.toml:12: servers.github.timeout: message"; a fault of the TOML
// syntax, which has no key, has its column too: "mcp.toml:12:5: message".
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Key == "" && p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}
