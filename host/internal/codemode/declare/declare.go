// Package declare writes TypeScript declarations of tools, from JSON Schemas of
// strangers: for models that write scripts, and for editors.
//
// It is pure. It validates nothing (host/internal/schema does), calls nothing,
// and does not decide which tools there are or who may see them. The same tools
// give the same bytes.
//
// # From schema to type
//
//   - An output schema is the type of the result; without one it is unknown.
//   - Properties come in the order in which they are written, and are optional unless
//     they are required. A schema that is silent about further properties allows any;
//     the type does not, so that a misspelt name is noticed. A tool that lists no
//     arguments takes none.
//   - anyOf and oneOf are unions, allOf intersections. not, if, dependentRequired and
//     the like say what TypeScript cannot, and are left out.
//   - Descriptions are comments. Constraints are tags in them, named like the keyword:
//     @minimum 1, @format date-time, and @integer.
//   - A number is number. Where an integer beyond 2^53 is to be expected, by format
//     int64 or uint64 or by a bound that lies there, it is number | bigint, since
//     scripts get those as BigInt; such a value in an enum is a bigint.
//   - References within the schema are expanded, up to 32 definitions. What refers to
//     itself, leads elsewhere or nowhere is unknown, and so is structure below 24
//     levels and a schema of more than 1 MiB.
//
// # What gives way
//
// A declaration is never longer than its limit. When it would be, these go, one
// after the other, until it fits:
//
//  1. constraints
//  2. descriptions below the first level
//  3. descriptions in the result
//  4. descriptions of arguments behind their first line
//  5. enums behind their tenth value
//  6. the result below its second level
//  7. the result: it is unknown
//  8. arguments below their fourth, third and second level
//  9. descriptions of arguments, and of the tool behind a quarter of the limit
//  10. arguments below their first level
//  11. arguments: they are Record<string, unknown>
package declare

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/name"
)

// Limit is the longest declaration of one tool, in bytes, where nobody says
// otherwise.
const Limit = 16_000

// MinLimit is the shortest limit that is kept: a name alone can be that long.
const MinLimit = 1_000

// Tool is what a declaration is made of.
type Tool struct {
	Server string // as it is configured
	Name   string // as its server spells it
	// ServerIdentifier and Identifier are how scripts spell these
	// (name.ServerIdentifiers, name.Identifiers).
	ServerIdentifier, Identifier string

	Title, Description string
	Input, Output      json.RawMessage // JSON Schemas; nil when there are none
}

// Declaration is the declaration of one tool, complete and correct TypeScript:
//
//	declare const tools: { github: {
//	  /** Create a repository. */
//	  create_repository(args: { name: string; private?: boolean }): Promise<unknown>;
//	} };
//
// It is at most limit bytes long, see "What gives way".
func Declaration(t Tool, limit int) string { return Declarations([]Tool{t}, limit) }

// Declarations is the declaration of several tools in the order given, those of
// one server together, with at most limit bytes for each. A tool that is given twice
// is declared once.
func Declarations(tools []Tool, limit int) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("declare const tools: {")
	const around = len("declare const tools: { : {\n} };\n")
	for i, group := range grouped(tools) {
		if i > 0 {
			b.WriteByte(';')
		}
		server := key(group[0].ServerIdentifier)
		b.WriteString(" " + server + ": {\n")
		for _, t := range group {
			b.WriteString(t.declare(asMethod, limit-around-len(server)))
		}
		b.WriteByte('}')
	}
	b.WriteString(" };\n")
	return b.String()
}

// grouped are the tools by server, servers and tools in the order in which they come
// first, each once.
func grouped(tools []Tool) [][]Tool {
	var groups [][]Tool
	at, seen := map[string]int{}, map[string]bool{}
	for _, t := range tools {
		i, known := at[t.Server]
		if !known {
			i = len(groups)
			at[t.Server], groups = i, append(groups, nil)
		}
		if canonical := name.Join(t.Server, t.Name); !seen[canonical] {
			seen[canonical] = true
			groups[i] = append(groups[i], t)
		}
	}
	return groups
}

// form is how a tool is declared as a member of its server.
type form func(p *printer, t Tool, args func(), optional bool, result func())

// asMethod is for reading: create(args: A): Promise<R>;
func asMethod(p *printer, t Tool, args func(), optional bool, result func()) {
	p.add("  " + key(t.Identifier) + "(args")
	if optional {
		p.add("?")
	}
	p.add(": ")
	args()
	p.add("): Promise<")
	result()
	p.add(">;\n")
}

// asProperty is for a compiler that knows the type Tool: create: Tool<A, R>;
func asProperty(p *printer, t Tool, args func(), _ bool, result func()) {
	p.add("  " + key(t.Identifier) + ": Tool<")
	args()
	p.add(", ")
	result()
	p.add(">;\n")
}

// step is one stage of what gives way.
type step struct {
	in, out detail
	noIn    bool // the arguments are not told
	noOut   bool // the result is not told
	about   int  // the description of the tool is at most this part of the limit
}

// all is everything.
var all = detail{levels: maxLevels, notes: maxLevels, tags: true, values: maxNodes}

// steps are the stages, each with less than the one before.
var steps = func() []step {
	s := step{in: all, out: all, about: 2}
	stages := []step{s}
	less := func(change func(*step)) {
		change(&s)
		stages = append(stages, s)
	}
	less(func(s *step) { s.in.tags, s.out.tags = false, false })
	less(func(s *step) { s.in.notes, s.out.notes = 1, 1 })
	less(func(s *step) { s.out.notes = 0 })
	less(func(s *step) { s.in.short = true })
	less(func(s *step) { s.in.values, s.out.values = 10, 10 })
	less(func(s *step) { s.out.levels = 2 })
	less(func(s *step) { s.noOut = true })
	less(func(s *step) { s.in.levels = 4 })
	less(func(s *step) { s.in.levels = 3 })
	less(func(s *step) { s.in.levels = 2 })
	less(func(s *step) { s.in.notes, s.about = 0, 4 })
	less(func(s *step) { s.in.levels = 1 })
	less(func(s *step) { s.noIn = true })
	return stages
}()

// declare is the tool as a member of its server, within limit bytes.
func (t Tool) declare(f form, limit int) string {
	limit = max(limit, MinLimit-100)
	in, out := &shapes{schema: t.Input}, &shapes{schema: t.Output}
	for _, s := range steps {
		args, complete := in.at(s.in.levels)
		if s.noIn {
			args, complete = record(unknown), true
		}
		if !complete && len(t.Input) > 0 {
			continue
		}
		switch {
		case t.takesNothing():
			args = record(never)
		case args == unknown: // the arguments of a tool are an object, by MCP
			args = record(unknown)
		}
		result, complete := out.at(s.out.levels)
		if s.noOut {
			result, complete = unknown, true
		}
		if !complete && len(t.Output) > 0 {
			continue
		}
		p := &printer{limit: limit}
		p.add(t.comment(limit / s.about))
		f(p, t, func() { p.print(args, s.in, 0) }, args.mayBeEmpty(), func() { p.print(result, s.out, 0) })
		if !p.over() {
			return string(p.buf)
		}
	}
	return "" // not reached: the last stage is shorter than MinLimit
}

// comment is what is said of the tool: at most about max bytes.
func (t Tool) comment(max int) string {
	about := t.Description
	if strings.TrimSpace(about) == "" {
		about = t.Title
	}
	lines := clean(about, max)
	// Not where the identifier says it well enough.
	if name.Implicit(t.Name) || t.Identifier != name.Identifiers(t.Server, []string{t.Name})[t.Name] {
		lines = append(lines, "@tool "+firstLine(name.Join(t.Server, t.Name), 4*maxTag))
	}
	return block("  ", lines, "")
}

// takesNothing says whether the tool has no arguments: it lists none, and allows no
// others by a word of its own.
func (t Tool) takesNothing() bool {
	if len(t.Input) > 1000 || !json.Valid(t.Input) {
		return false
	}
	s := gjson.ParseBytes(t.Input)
	for _, keyword := range []string{"additionalProperties", "patternProperties", "required", "anyOf", "oneOf", "allOf", "$ref"} {
		if member(s, keyword).Exists() {
			return false
		}
	}
	properties := member(s, "properties")
	return properties.IsObject() && len(properties.Map()) == 0
}

// shapes are the types of one schema, by the levels of their structure.
type shapes struct {
	schema json.RawMessage
	built  map[int]*typ
	part   map[int]bool
}

// at is the type down to so many levels, and whether that is all there is.
func (s *shapes) at(levels int) (*typ, bool) {
	if len(s.schema) == 0 {
		return unknown, true
	}
	if s.built == nil {
		s.built, s.part = map[int]*typ{}, map[int]bool{}
	}
	if s.built[levels] == nil {
		t, complete := build(s.schema, levels)
		s.built[levels], s.part[levels] = t, !complete
	}
	return s.built[levels], !s.part[levels]
}

// mayBeEmpty says whether an object without properties is of the type.
func (t *typ) mayBeEmpty() bool {
	switch t.kind {
	case object:
		for _, m := range t.members {
			if !m.optional {
				return false
			}
		}
		return true
	case dictionary, keyed:
		return true
	}
	return false
}
