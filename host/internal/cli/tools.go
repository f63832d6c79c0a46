package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

func newCmdTools(f *Factory) *cobra.Command {
	return group("tools <command>", "List, find, show and call tools",
		"  collet tools list\n  collet tools search 'read a file'\n  collet tools show files/read_text_file\n  collet tools call files/read_text_file path=notes.md",
		newCmdToolsList(f, nil), newCmdToolsSearch(f, nil), newCmdToolsShow(f, nil), newCmdToolsCall(f, nil))
}

// toolJSON is a tool as --json shows it: the list's members, then more.
func toolJSON(t *host.Tool, more ...func(*rawjson.Object)) []byte {
	var o rawjson.Object
	o.String("name", t.Name)
	o.String("wireName", t.WireName)
	o.String("server", t.Server)
	o.String("title", t.Title)
	o.String("description", t.Description)
	o.String("exposure", string(t.Exposure))
	o.Bool("readOnly", t.ReadOnly)
	o.String("schemaState", schemaState(t))
	o.Bool("rewritten", t.Rewritten)
	o.Bool("withheld", t.Withheld)
	o.Raw("inputSchema", readable(t.InputSchema))
	o.Raw("outputSchema", readable(t.OutputSchema))
	if t.Stale {
		o.Bool("stale", true)
	}
	for _, add := range more {
		add(&o)
	}
	return o.Bytes()
}

// maxListed is how deep a schema that is printed among others nests, in containers:
// one stranger's tool must not make the whole list unreadable. jq 1.6 takes 256
// levels and Python 1,000; schemas that are checked have at most 128.
const maxListed = 200

// readable is the schema, or nil when it is nested too deep for a list.
func readable(schema json.RawMessage) json.RawMessage {
	depth, quoted := 0, false
	for i := 0; i < len(schema); i++ {
		switch c := schema[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxListed {
				return nil
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return schema
}

// serverJSON is a server as --json shows it; error is null when its tools are
// all there.
func serverJSON(s *host.Server) []byte {
	o := serverObject(s)
	return o.Bytes()
}

func serverObject(s *host.Server) rawjson.Object {
	var o rawjson.Object
	o.String("name", s.Name)
	o.String("state", s.State)
	o.String("plugin", s.Plugin)
	o.OptionalString("error", s.Error)
	addAsked(&o, s.Asked)
	return o
}

// runningJSON is servers of a running host: of those that have an adapter process it
// says which.
func runningJSON(servers []host.Server) []byte {
	elements := make([][]byte, 0, len(servers))
	for i := range servers {
		o := serverObject(&servers[i])
		if pid := servers[i].Pid; pid != 0 {
			o.Int("pid", int64(pid))
		}
		elements = append(elements, o.Bytes())
	}
	return rawjson.Array(elements)
}

func serversJSON(servers []host.Server) []byte {
	elements := make([][]byte, 0, len(servers))
	for i := range servers {
		elements = append(elements, serverJSON(&servers[i]))
	}
	return rawjson.Array(elements)
}

func schemaState(t *host.Tool) string {
	if t.Unchecked() != "" {
		return "unchecked"
	}
	return "checked"
}

// hints are what a tool says of itself (MCP, ToolAnnotations): nobody checks it.
func hints(t *host.Tool) []string {
	var list []string
	if t.ReadOnly {
		list = append(list, "read-only")
	}
	for _, h := range []struct{ key, yes, no string }{
		{"destructiveHint", "destructive", "not destructive"},
		{"idempotentHint", "idempotent", ""},
		{"openWorldHint", "open world", "closed world"},
	} {
		switch gjson.GetBytes(t.Definition, "annotations."+h.key).Type {
		case gjson.True:
			list = append(list, h.yes)
		case gjson.False:
			if h.no != "" {
				list = append(list, h.no)
			}
		}
	}
	return list
}
