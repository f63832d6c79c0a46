// Package pins keeps mcp.lock: which plugin files a person's mcp.toml was started
// with, and what the tools of its servers were when they were first seen. It holds
// plugin files against that before they are executed, sees to it that what was
// looked at is what is executed, and finds tools that were rewritten.
//
// It starts no plugin, asks nobody, and decides nothing about a tool that was
// rewritten: it names it.
package pins

import (
	"encoding/json"
	"runtime"
	"slices"
)

// Lock is what one mcp.lock says. The zero value says nothing.
type Lock struct {
	// Plugins are pinned plugin files, by the name or path that Key gives them.
	Plugins map[string]Plugin
	// Servers are the tools of servers, by the server's name in mcp.toml.
	Servers map[string]Server
}

// Plugin is one plugin file as it was accepted.
type Plugin struct {
	// Source and Version say where it was installed from; empty when it was not
	// installed by collet. They inform people, and nothing is decided by them.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	// Signer is who attested the file that was installed last, likewise.
	Signer string `json:"signer,omitempty"`
	// SHA256 is the file's digest in lower-case hex, one for each platform
	// ("linux/amd64"): people who share a mcp.lock need not share a machine.
	SHA256 map[string]string `json:"sha256"`
}

// Server is what is known of one server's tools.
type Server struct {
	// Tools are the digests of definitions that were accepted, by the tool's name
	// without its server's. A tool that its server withdrew keeps its line: one that
	// comes back as something else was rewritten, too.
	Tools map[string]string `json:"tools"`
}

// Platform is this program's, as a Lock spells it.
const Platform = runtime.GOOS + "/" + runtime.GOARCH

// clone is a copy whose maps can be changed without changing l's.
func (l *Lock) clone() *Lock {
	c := &Lock{Plugins: map[string]Plugin{}, Servers: map[string]Server{}}
	for k, p := range l.Plugins {
		sums := make(map[string]string, len(p.SHA256)+1)
		for platform, sum := range p.SHA256 {
			sums[platform] = sum
		}
		p.SHA256 = sums
		c.Plugins[k] = p
	}
	for n, s := range l.Servers {
		tools := make(map[string]string, len(s.Tools))
		for t, d := range s.Tools {
			tools[t] = d
		}
		c.Servers[n] = Server{Tools: tools}
	}
	return c
}

// SetPlugin accepts a file for this platform. What is known of it on others, and
// where it came from, stays.
func (l *Lock) SetPlugin(key, sum string) {
	p := l.Plugins[key]
	if p.SHA256 == nil {
		p.SHA256 = map[string]string{}
	}
	p.SHA256[Platform] = sum
	l.Plugins[key] = p
}

// SetOrigin says where a plugin that is pinned was installed from.
func (l *Lock) SetOrigin(key, source, version, signer string) {
	p := l.Plugins[key]
	p.Source, p.Version, p.Signer = source, version, signer
	l.Plugins[key] = p
}

// SetTool accepts a tool's definition.
func (l *Lock) SetTool(server, tool, digest string) {
	s := l.Servers[server]
	if s.Tools == nil {
		s.Tools = map[string]string{}
	}
	s.Tools[tool] = digest
	l.Servers[server] = s
}

// Locks are the files that count for one mcp.toml: the one beside it, and the one in
// the state directory for when nothing can be written there. What either accepts is
// accepted.
type Locks []*Lock

// Plugin are the digests that are accepted for a plugin here; none when it was
// never pinned.
func (ls Locks) Plugin(key string) []string {
	var sums []string
	for _, l := range ls {
		if sum := l.Plugins[key].SHA256[Platform]; sum != "" && !slices.Contains(sums, sum) {
			sums = append(sums, sum)
		}
	}
	return sums
}

// Tool reports whether a tool has ever been accepted, and whether with this digest.
func (ls Locks) Tool(server, tool, digest string) (known, same bool) {
	for _, l := range ls {
		if d, ok := l.Servers[server].Tools[tool]; ok {
			known, same = true, same || d == digest
		}
	}
	return known, same
}

// Tools are the names of all tools of a server that were ever accepted, sorted.
func (ls Locks) Tools(server string) []string {
	var names []string
	for _, l := range ls {
		for t := range l.Servers[server].Tools {
			names = append(names, t)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Definition is a tool as its server defines it.
type Definition struct {
	Name string // without the server's
	JSON json.RawMessage
}
