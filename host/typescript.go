package host

import (
	"github.com/collet-dev/collet/host/internal/codemode/declare"
	"github.com/collet-dev/collet/host/internal/name"
)

// TypeScript is the declaration of the tool as scripts call it, from its schemas:
//
//	declare const tools: { github: {
//	  /** Create a repository. */
//	  create_repository(args: { name: string; private?: boolean }): Promise<unknown>;
//	} };
//
// It is at most 16,000 bytes long; docs/codemode.md says what gives way.
func (t *Tool) TypeScript() string { return declare.Declaration(t.declared(), declare.Limit) }

// TypeScript is a file of ambient declarations for editors and compilers: the tools
// of the listing, and everything else a script can use.
func (l *Listing) TypeScript() string {
	tools := make([]declare.Tool, 0, len(l.Tools))
	for i := range l.Tools {
		tools = append(tools, l.Tools[i].declared())
	}
	return declare.Ambient(tools, declare.Limit)
}

func (t *Tool) declared() declare.Tool {
	_, own, _ := name.Split(t.Name)
	d := declare.Tool{
		Server: t.Server, Name: own, ServerIdentifier: t.serverIdentifier, Identifier: t.identifier,
		Title: t.Title, Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema,
	}
	if t.identifier == "" { // no host made it: there is no other to tell it from
		d.ServerIdentifier = name.ServerIdentifiers([]string{t.Server})[t.Server]
		d.Identifier = name.Identifiers(t.Server, []string{own})[own]
	}
	return d
}
