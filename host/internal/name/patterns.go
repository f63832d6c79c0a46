package name

import (
	"slices"
	"strings"
)

// Patterns name tools, each as SERVERS or SERVERS/TOOLS, two globs of Match. A tool
// is named when any of them names it.
type Patterns []string

// Tool reports whether the tool of that canonical name is named.
func (all Patterns) Tool(canonical string) bool {
	server, own, _ := Split(canonical)
	return slices.ContainsFunc(all, func(p string) bool {
		servers, tools, said := strings.Cut(p, "/")
		return Match(servers, server) && (!said || Match(tools, own))
	})
}

// Server reports whether tools of the server may be named.
func (all Patterns) Server(server string) bool {
	return slices.ContainsFunc(all, func(p string) bool {
		servers, _, _ := strings.Cut(p, "/")
		return Match(servers, server)
	})
}
