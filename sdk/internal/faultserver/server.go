package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is the state of one run, whatever the transport.
type server struct {
	faults                        map[string]bool
	schemas                       []string
	delay                         time.Duration
	size, n                       int
	state, http, certout, sibling string
	logger                        *os.File

	out         sync.Mutex // stdout: one message at a time
	wrote       bool
	initialized atomic.Bool // over stdio
	modern      atomic.Bool // the peer on stdio speaks 2026-07-28
	grown       atomic.Bool
	rugged      atomic.Bool
	pages       atomic.Int64
	listens     atomic.Int64

	asking sync.Mutex
	asked  map[string]chan []byte // our requests, by id
	asks   int

	listening sync.Mutex
	listeners map[*listener]bool
}

// sink takes what is said in reply to one message.
type sink interface {
	// write sends one message; final is the answer. False: nobody listens any more.
	write(text string, final bool) bool
}

// message is what the host sent, its parts as written.
type message struct {
	line   string
	to     sink
	modern bool            // sent by the rules of 2026-07-28
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// methods are those receive knows.
var methods = []string{"server/discover", "initialize", "ping", "tools/list", "tools/call", "subscriptions/listen"}

func (s *server) receive(m message) {
	if m.Method == "" {
		s.answered(m)
		return
	}
	for _, h := range hooks {
		if s.faults[h.name] && h.method == m.Method && h.do(s, m) {
			return
		}
	}
	if m.ID == nil {
		if m.Method == "notifications/initialized" {
			s.initialized.Store(true)
		}
		return
	}
	if m.modern && m.Method != "initialize" && !strings.Contains(string(m.Params), `"`+versionKey+`":"2026-07-28"`) {
		s.refuse(m, -32602, "missing _meta "+versionKey)
		return
	}
	if s.faults["needinit"] && !s.initialized.Load() && strings.HasPrefix(m.Method, "tools/") {
		s.refuse(m, -32600, "not initialized")
		return
	}
	switch m.Method {
	case "server/discover":
		s.discover(m)
	case "initialize":
		s.initialize(m)
	case "ping":
		s.result(m, "{}")
	case "tools/list":
		s.list(m)
	case "tools/call":
		s.call(m)
	case "subscriptions/listen":
		s.listen(m)
	default:
		s.refuse(m, -32601, "Method not found")
	}
}

const versionKey = "io.modelcontextprotocol/protocolVersion"

func (s *server) speaksModern() bool { return s.faults["modern"] || s.faults["modern-only"] }

func (s *server) discover(m message) {
	if !s.speaksModern() {
		s.refuse(m, -32601, "Method not found")
		return
	}
	s.modern.Store(true)
	versions := `"2026-07-28"`
	if s.faults["modern"] {
		versions += `,"2025-11-25","2025-06-18"`
	}
	s.result(m, `{"resultType":"complete","supportedVersions":[`+versions+`],"capabilities":{"tools":{}},"instructions":"be careful","ttlMs":1000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"faultserver","version":"1"}}}`)
}

func (s *server) initialize(m message) {
	if s.faults["modern-only"] {
		s.answer(m, answer{fault: unsupported("2025-11-25")})
		return
	}
	s.modern.Store(false)
	version := `"2025-11-25"`
	for fault, v := range versionFaults {
		if s.faults[fault] {
			version = v
		}
	}
	tools := `{"listChanged":true}`
	if s.faults["capsquiet"] {
		tools = `{}`
	}
	s.result(m, `{"protocolVersion":`+version+`,"capabilities":{"tools":`+tools+`},"serverInfo":{"name":"faultserver","version":"1"},"instructions":"be careful"}`)
}

// unsupported is UnsupportedProtocolVersionError of 2026-07-28.
func unsupported(requested string) string {
	return `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":` + quote(requested) + `}}`
}

func (s *server) result(m message, result string) { s.answer(m, answer{result: result}) }

func (s *server) refuse(m message, code int, text string) {
	s.answer(m, answer{fault: rpcError(code, text)})
}

func (s *server) answer(m message, a answer) {
	a.id, a.method = string(m.ID), m.Method
	s.send(m, a)
}

func rpcError(code int, text string) string {
	return fmt.Sprintf(`{"code":%d,"message":%s}`, code, quote(text))
}

func notification(method, params string) string {
	return `{"jsonrpc":"2.0","method":` + quote(method) + `,"params":` + params + `}`
}

// quote is a JSON string with the escapes JSON demands and no others, so that
// the host's bytes show.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
