package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is the state of one run.
type server struct {
	faults  map[string]bool
	schemas []string
	delay   time.Duration
	size, n int
	state   string
	logger  *os.File

	out         sync.Mutex // one message at a time
	wrote       bool
	initialized bool
	modern      bool // the peer speaks 2026-07-28
	grown       atomic.Bool
	rugged      atomic.Bool
	pages       int

	asking sync.Mutex
	asked  map[string]chan []byte // our requests, by id
	asks   int
}

// message is what the host sent, its parts as written.
type message struct {
	line   string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// serve reads messages until the input ends.
func (s *server) serve(in io.Reader) {
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		l, err := r.ReadString('\n')
		if l = strings.TrimRight(l, "\r\n"); l != "" {
			s.log("in", l)
			m := message{line: l}
			if jsonErr := json.Unmarshal([]byte(l), &m); jsonErr != nil {
				s.send(answer{id: "null", fault: rpcError(-32700, "Parse error")})
			} else {
				s.receive(m)
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *server) receive(m message) {
	if m.Method == "" {
		s.asking.Lock()
		waiting := s.asked[string(m.ID)]
		s.asking.Unlock()
		if waiting != nil {
			if m.Error != nil {
				waiting <- []byte("client error: " + string(m.Error))
			} else {
				waiting <- []byte("client result: " + string(m.Result))
			}
		}
		return
	}
	for _, h := range hooks {
		if s.faults[h.name] && h.method == m.Method && h.do(s, m) {
			return
		}
	}
	if m.ID == nil {
		if m.Method == "notifications/initialized" {
			s.initialized = true
		}
		return
	}
	if s.modern && m.Method != "initialize" && !strings.Contains(string(m.Params), `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
		s.refuse(m, -32602, "missing _meta io.modelcontextprotocol/protocolVersion")
		return
	}
	if s.faults["needinit"] && !s.initialized && strings.HasPrefix(m.Method, "tools/") {
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
	default:
		s.refuse(m, -32601, "Method not found")
	}
}

func (s *server) discover(m message) {
	if !s.faults["modern"] && !s.faults["modern-only"] {
		s.refuse(m, -32601, "Method not found")
		return
	}
	s.modern = true
	versions := `"2026-07-28"`
	if s.faults["modern"] {
		versions += `,"2025-11-25","2025-06-18"`
	}
	s.result(m, `{"resultType":"complete","supportedVersions":[`+versions+`],"capabilities":{"tools":{}},"instructions":"be careful","ttlMs":1000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"faultserver","version":"1"}}}`)
}

func (s *server) initialize(m message) {
	if s.faults["modern-only"] {
		s.answer(m, answer{fault: `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`})
		return
	}
	s.modern = false
	version := `"2025-11-25"`
	for fault, v := range versionFaults {
		if s.faults[fault] {
			version = v
		}
	}
	s.result(m, `{"protocolVersion":`+version+`,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"faultserver","version":"1"},"instructions":"be careful"}`)
}

func (s *server) result(m message, result string) { s.answer(m, answer{result: result}) }

func (s *server) refuse(m message, code int, text string) {
	s.answer(m, answer{fault: rpcError(code, text)})
}

func (s *server) answer(m message, a answer) {
	a.id, a.method = string(m.ID), m.Method
	s.send(a)
}

func rpcError(code int, text string) string {
	return fmt.Sprintf(`{"code":%d,"message":%s}`, code, quote(text))
}

// notify sends a notification.
func (s *server) notify(method, params string) {
	s.write(`{"jsonrpc":"2.0","method":` + quote(method) + `,"params":` + params + `}`)
}

// ask sends a request to the host and returns what came back as text.
func (s *server) ask(id, method string) string {
	waiting := make(chan []byte, 1)
	s.asking.Lock()
	s.asks++
	if id == "" {
		id = fmt.Sprintf(`"srv-%d"`, s.asks)
	}
	s.asked[id] = waiting
	s.asking.Unlock()
	s.write(`{"jsonrpc":"2.0","id":` + id + `,"method":` + quote(method) + `,"params":{}}`)
	select {
	case b := <-waiting:
		return string(b)
	case <-time.After(5 * time.Second):
		return "client silent"
	}
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

func (s *server) openLog(path string) {
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fatal(err.Error())
	}
	s.logger = f
}

// log appends one JSON line; message is JSON or empty.
func (s *server) log(event, message string) {
	if s.logger == nil {
		return
	}
	l := `{"event":` + quote(event) + fmt.Sprintf(`,"pid":%d`, os.Getpid())
	if json.Valid([]byte(message)) {
		l += `,"message":` + message
	} else if message != "" {
		l += `,"text":` + quote(message)
	}
	if _, err := s.logger.WriteString(l + "}\n"); err != nil {
		fatal(err.Error())
	}
}

func known(fault string) bool {
	has := func(name string) bool { return name == fault }
	if slices.ContainsFunc(starts, func(f startFault) bool { return has(f.name) }) ||
		slices.ContainsFunc(hooks, func(f hook) bool { return has(f.name) }) ||
		slices.ContainsFunc(shapes, func(f shape) bool { return has(f.name) }) ||
		slices.ContainsFunc(streams, func(f stream) bool { return has(f.name) }) ||
		slices.Contains(switches, fault) {
		return true
	}
	_, ok := versionFaults[fault]
	return ok
}
