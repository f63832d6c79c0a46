package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf16"
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
	{"half-answer", true, func(a answer) string { return a.String() }}, // cut by write
}

// send writes an answer in the shape the faults give it.
func (s *server) send(a answer) {
	text := a.String()
	for _, f := range shapes {
		if s.faults[f.name] && (!f.callsOnly || a.method == "tools/call") {
			text = f.text(a)
		}
	}
	if s.faults["half-answer"] && a.method == "tools/call" {
		os.Stdout.WriteString(text[:len(text)/2])
		os.Exit(2)
	}
	s.write(text)
}

// stream is a fault of the byte stream: it writes one message.
type stream struct {
	name  string
	write func(text string)
}

func raw(b string) { os.Stdout.WriteString(b) }

var streams = []stream{
	{"midlog", func(t string) { raw("2026-11-30 INFO \x1b[32mworking\x1b[0m\n" + t + "\n") }},
	{"leading", func(t string) { raw("\x1b[2K> {busy} " + t + "\n") }},
	{"nul", func(t string) { raw("\x00\x00\x00\x00\n" + t + "\n") }},
	{"badutf8", func(t string) { raw("\xff\xfe\xfd\n" + t + "\n") }},
	{"splitutf8", func(t string) {
		cut := strings.IndexFunc(t, func(r rune) bool { return r > 0x7f }) + 1
		raw(t[:cut])
		time.Sleep(20 * time.Millisecond)
		raw(t[cut:] + "\n")
	}},
	{"dribble", func(t string) {
		for _, b := range []byte(t + "\n") {
			os.Stdout.Write([]byte{b})
		}
	}},
	{"crlf", func(t string) { raw(t + "\r\n") }},
	{"blank", func(t string) { raw("\n  \n" + t + "\n\n") }},
	{"pretty", func(t string) {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(t), "", "  "); err != nil {
			fatal(err.Error())
		}
		raw(b.String() + "\n")
	}},
	{"twodocs", func(t string) {
		raw(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"first"}}` + t + "\n")
	}},
	{"utf16", func(t string) {
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(t + "\n")) {
			b = append(b, byte(u), byte(u>>8))
		}
		os.Stdout.Write(b)
	}},
	{"contentlength", func(t string) { raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(t), t)) }},
}

// write writes one message, at most one stream fault applied.
func (s *server) write(text string) {
	s.out.Lock()
	defer s.out.Unlock()
	if s.faults["bom"] && !s.wrote {
		raw("\xef\xbb\xbf")
	}
	s.wrote = true
	for _, f := range streams {
		if s.faults[f.name] {
			f.write(text)
			return
		}
	}
	raw(text + "\n")
}
