package main

import (
	"os"
	"strings"
)

// answer is a response before it has a shape; parts are JSON, "" is absent.
type answer struct{ id, result, fault, method string }

func (a answer) String() string {
	if a.fault != "" {
		return `{"jsonrpc":"2.0","id":` + a.id + `,"error":` + a.fault + `}`
	}
	return `{"jsonrpc":"2.0","id":` + a.id + `,"result":` + a.result + `}`
}

// shape is a fault of one answer. callsOnly leaves other methods alone.
type shape struct {
	name      string
	callsOnly bool
	text      func(answer) string
}

var shapes = []shape{
	{"id-string", false, func(a answer) string { a.id = `"` + a.id + `"`; return a.String() }},
	{"id-float", false, func(a answer) string { a.id += ".0"; return a.String() }},
	{"id-exp", false, func(a answer) string { a.id += "e0"; return a.String() }},
	{"batch", false, func(a answer) string {
		return `[` + a.String() + `,{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"in a batch"}}]`
	}},
	{"casefold", false, func(a answer) string {
		wrong := `{"content":[{"type":"text","text":"WRONG MEMBER"}]}`
		return strings.TrimSuffix(a.String(), "}") + `,"Result":` + wrong + `,"RESULT":` + wrong + `,"re\u017fult":` + wrong + `,"ID":999}`
	}},
	{"idlast", false, func(a answer) string {
		if a.fault != "" {
			return a.String()
		}
		return `{"result":` + a.result + `,"jsonrpc":"2.0","id":` + a.id + `}`
	}},
	{"errnull", false, func(a answer) string {
		if a.fault != "" {
			return a.String()
		}
		return strings.TrimSuffix(a.String(), "}") + `,"error":null}`
	}},
	{"both", true, func(a answer) string {
		return strings.TrimSuffix(a.String(), "}") + `,"error":{"code":-32603,"message":"both"}}`
	}},
	{"neither", true, func(a answer) string { return `{"jsonrpc":"2.0","id":` + a.id + `}` }},
	{"repeat", true, func(a answer) string { return strings.TrimSuffix(a.String(), "}") + `,"result":{"content":[]}}` }},
	{"badjson", true, func(a answer) string { return `{"jsonrpc":"2.0","id":` + a.id + `,"result":{"n":NaN}}` }},
	{"errnoid", true, func(a answer) string {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	}},
}

// send writes an answer in the shape the faults give it.
func (s *server) send(m message, a answer) {
	text := a.String()
	for _, f := range shapes {
		if s.faults[f.name] && (!f.callsOnly || a.method == "tools/call") {
			text = f.text(a)
		}
	}
	if s.faults["crash-partial"] && a.method == "tools/call" {
		s.out.Lock()
		raw(text[:len(text)/2])
		os.Exit(2)
	}
	m.to.write(text, true)
}
