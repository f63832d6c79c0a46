package mcp

import (
	"fmt"
	"slices"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/codemode/declare"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// Bounds on one answer of tool_search, in bytes of its structuredContent. It comes
// twice, as text, too, and a model reads every byte of it.
const (
	maxTold   = 64 << 10 // descriptions and schemas of all tools together
	maxAnswer = 96 << 10 // with names and what JSON adds
)

// found is a tool that a search found, and how much of it is told.
type found struct {
	Tool
	declared declare.Tool
	score    float64
	about    string // its description
	size     int    // of the description and the schema in full
}

// tell writes the tools that a search found, best first. One that only scripts can
// call comes with its TypeScript declaration, as they do so, any other with its
// schema. When that is too much, the longest are told in less: a description is
// cut, and a schema gives way to a declaration, which does so in an order of its own
// (package declare). What does not fit even then is left out from the end.
func tell(hits []found) [][]byte {
	var sizes []int
	for i := range hits {
		h := &hits[i]
		h.declared.Title, h.declared.Description = "", "" // it is beside it
		h.about = cutText(h.Description, maxText)
		h.size = len(h.about)
		switch {
		case h.byScript():
			h.size += len(declare.Declaration(h.declared, declare.Limit))
		case schemaFits(string(h.InputSchema)):
			h.size += len(h.InputSchema)
		}
		sizes = append(sizes, h.size)
	}
	most := level(sizes, maxTold)
	var told [][]byte
	total := 0
	for i := range hits {
		one := hits[i].json(most)
		if total += len(one) + 1; total > maxAnswer {
			break
		}
		told = append(told, one)
	}
	return told
}

// level is the most that each may have so that all together have at most sum.
func level(sizes []int, sum int) int {
	sizes = slices.Sorted(slices.Values(sizes))
	for i, n := range sizes {
		rest := len(sizes) - i
		if n*rest > sum {
			return sum / rest
		}
		sum -= n
	}
	return declare.Limit + maxTold
}

func (h *found) byScript() bool { return h.Exposure == exposure.Codemode }

// json is the tool with at most about so many bytes of description and schema.
func (h *found) json(most int) []byte {
	about, rest := h.about, declare.Limit
	if h.size > most {
		about = cutText(about, most/4)
		rest = most - len(about)
	}
	var o rawjson.Object
	o.String("name", h.FullName())
	o.OptionalString("wireName", h.Wire)
	o.String("description", about)
	o.String("exposure", string(h.Exposure))
	o.Raw("score", fmt.Appendf(nil, "%g", h.score))
	switch fits := schemaFits(string(h.InputSchema)); {
	case h.byScript(), fits && h.size > most && len(h.InputSchema) > rest:
		o.String("declaration", declare.Declaration(h.declared, max(rest, declare.MinLimit)))
	case h.InputSchema == nil:
	case fits:
		o.Raw("inputSchema", h.InputSchema)
	default:
		o.Raw("inputSchema", []byte(anything))
		o.String("unchecked", uncheckedWhy)
	}
	return o.Bytes()
}

// declared is a tool as package declare takes it.
func declared(t Tool, identifier func(*catalog.Tool) (server, tool string)) declare.Tool {
	server, own := identifier(t.Tool)
	return declare.Tool{
		Server: t.Server, Name: t.Name, ServerIdentifier: server, Identifier: own,
		Input: t.InputSchema, Output: t.OutputSchema,
	}
}
