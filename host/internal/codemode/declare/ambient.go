package declare

import (
	_ "embed"
	"strings"

	"github.com/collet-dev/collet/host/internal/name"
)

// environment declares what scripts have beside tools.
//
//go:embed environment.d.ts
var environment string

// Ambient is a file of ambient declarations for editors: everything a script can
// use, and the tools given as Declarations has them.
func Ambient(tools []Tool, limit int) string {
	var byServer, byName strings.Builder
	for _, group := range grouped(tools) {
		server := group[0]
		id := quote(server.ServerIdentifier)
		byServer.WriteString("  " + key(server.ServerIdentifier) + ": {\n")
		for _, t := range group {
			member := t.declare(asProperty, limit)
			byServer.WriteString("  " + strings.ReplaceAll(strings.TrimSuffix(member, "\n"), "\n", "\n  ") + "\n")
			itself := "Tools[" + id + "][" + quote(t.Identifier) + "];\n"
			if t.Name != t.Identifier && !name.Implicit(t.Name) {
				byServer.WriteString("    " + quote(t.Name) + ": " + itself)
			}
			byName.WriteString("  " + quote(name.Join(t.Server, t.Name)) + ": " + itself)
		}
		byServer.WriteString("  };\n")
		if server.Server != server.ServerIdentifier && !name.Implicit(server.Server) {
			byServer.WriteString("  " + quote(server.Server) + ": Tools[" + id + "];\n")
		}
	}
	return "// What a script of collet can use. Written by collet types; do not edit.\n\n" +
		"interface Tools {\n" + byServer.String() + "}\n\n" +
		"/** The tools by their full names. */\ninterface ToolsByName {\n" + byName.String() + "}\n" +
		environment
}
