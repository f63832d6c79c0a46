package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// web is the server over Streamable HTTP: 2025-11-25 basic/transports with
// sessions, and 2026-07-28 basic/transports/streamable-http without.
type web struct {
	s   *server
	url string // set by secure

	mu       sync.Mutex
	sessions map[string]int // calls made in each
	opened   int
	counts   map[string]int // what faults count, by their names
}

func newWeb(s *server) *web {
	return &web{s: s, sessions: map[string]int{}, counts: map[string]int{}}
}

const path = "/mcp"

func (w *web) serve(l net.Listener) error {
	server := http.Server{Handler: w}
	return server.Serve(l)
}

// ServeHTTP runs a request through the faults of HTTP and then to the protocol.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	w.logRequest(r)
	x := &exchange{web: w, rw: rw, r: r, done: make(chan struct{})}
	defer x.close()
	x.m = message{line: string(body), to: x}
	if r.Method == http.MethodPost {
		w.s.log("in", x.m.line)
		if err := json.Unmarshal(body, &x.m); err != nil && !strings.HasPrefix(x.m.line, "[") {
			x.refuse(http.StatusBadRequest, -32700, "Parse error")
			return
		}
	}
	for _, g := range gates {
		if w.s.faults[g.name] && g.concerns(x) && g.do(x) {
			return
		}
	}
	if strings.TrimSuffix(r.URL.Path, "/") != path {
		http.NotFound(rw, r)
		return
	}
	switch r.Method {
	case http.MethodPost:
		w.post(x)
	case http.MethodGet:
		w.get(x)
	case http.MethodDelete:
		w.delete(x)
	default:
		rw.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (w *web) logRequest(r *http.Request) {
	h, err := json.Marshal(r.Header)
	if err != nil {
		fatal(err.Error())
	}
	w.s.log("http", `{"method":`+quote(r.Method)+`,"path":`+quote(r.URL.RequestURI())+`,"host":`+quote(r.Host)+`,"headers":`+string(h)+`}`)
}

func (w *web) post(x *exchange) {
	accept := x.r.Header.Get("Accept")
	switch {
	case !strings.HasPrefix(x.r.Header.Get("Content-Type"), "application/json"):
		x.refuse(http.StatusUnsupportedMediaType, -32000, "Content-Type must be application/json")
	case !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream"):
		x.refuse(http.StatusNotAcceptable, -32000, "Accept must list application/json and text/event-stream")
	case strings.HasPrefix(x.m.line, "["):
		x.refuse(http.StatusBadRequest, -32600, "batches are no part of MCP")
	case w.isModern(x):
		w.modern(x)
	default:
		w.legacy(x)
	}
}

// isModern says whether a request is one of 2026-07-28: it names its version
// itself, and is not of the older versions.
func (w *web) isModern(x *exchange) bool {
	version := x.r.Header.Get("MCP-Protocol-Version")
	return w.s.speaksModern() && (version >= "2026" || strings.Contains(string(x.m.Params), versionKey)) ||
		w.s.faults["modern-only"]
}

// modern serves one request by 2026-07-28, whose headers repeat its body.
func (w *web) modern(x *exchange) {
	h := x.r.Header
	var p struct {
		Name, URI string
		Meta      map[string]any `json:"_meta"`
	}
	_ = json.Unmarshal(x.m.Params, &p) // what is missing shows below
	version, header := fmt.Sprint(p.Meta[versionKey]), h.Get("MCP-Protocol-Version")
	named := slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, x.m.Method)
	switch {
	case x.m.ID == nil:
		w.accepted(x)
	case x.m.Method == "initialize":
		x.fail(http.StatusBadRequest, unsupported(cmp.Or(header, "2025-11-25")))
	case header != "" && header != "2026-07-28":
		x.fail(http.StatusBadRequest, unsupported(header))
	case header != version || h.Get("Mcp-Method") != x.m.Method || named && plain(h.Get("Mcp-Name")) != cmp.Or(p.Name, p.URI):
		x.refuse(http.StatusBadRequest, -32020, "HeaderMismatch")
	case !slices.Contains(methods, x.m.Method):
		x.refuse(http.StatusNotFound, -32601, "Method not found")
	default:
		x.m.modern = true
		w.dispatch(x)
	}
}

// plain decodes the value of Mcp-Name.
func plain(value string) string {
	b64, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(b64, "?="))
	if err != nil {
		return ""
	}
	return string(b)
}

// legacy serves one message of the initialize era within its session.
func (w *web) legacy(x *exchange) {
	if x.m.Method == "server/discover" && w.s.hooked(x.m.Method) {
		w.dispatch(x)
		return
	}
	switch {
	case x.m.Method == "initialize":
		if !w.s.faults["nosession"] {
			x.rw.Header().Set(sessionHeader, w.open())
		}
	case w.s.faults["nosession"]:
	case x.session() == "":
		x.refuse(http.StatusBadRequest, -32000, "Bad Request: Server not initialized")
		return
	case !w.enter(x):
		x.refuse(http.StatusNotFound, -32001, "Session not found")
		return
	}
	if version := x.r.Header.Get("MCP-Protocol-Version"); version != "" && !slices.Contains(legacyVersions, version) {
		x.refuse(http.StatusBadRequest, -32000, "Bad Request: Unsupported protocol version")
		return
	}
	if x.m.ID == nil || x.m.Method == "" {
		w.accepted(x)
		return
	}
	w.dispatch(x)
}

var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const sessionHeader = "Mcp-Session-Id"

func (w *web) open() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened++
	id := fmt.Sprintf("session-%d", w.opened)
	w.sessions[id] = 0
	return id
}

// enter says whether the session of a message lives, and counts its calls.
func (w *web) enter(x *exchange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := x.session()
	calls, lives := w.sessions[id]
	if !lives {
		return false
	}
	if x.m.Method == "tools/call" {
		calls++
		w.sessions[id] = calls
	}
	if w.s.faults["sess404"] && calls > w.s.n || w.s.faults["sess404-always"] && x.m.ID != nil {
		delete(w.sessions, id)
		return false
	}
	return true
}

// accepted answers what wants no answer.
func (w *web) accepted(x *exchange) {
	w.s.receive(x.m)
	for _, f := range notes {
		if w.s.faults[f.name] {
			f.do(x)
			return
		}
	}
	x.rw.WriteHeader(http.StatusAccepted)
}

// dispatch hands a request to the protocol and stays until it is answered or the
// client has left.
func (w *web) dispatch(x *exchange) {
	call := x.m.Method == "tools/call"
	if w.s.faults["sse-stall"] && call || w.s.faults["sse-trickle"] && call {
		x.begin()
	}
	go w.s.receive(x.m)
	x.wait()
}

// get opens the stream of what belongs to no call.
func (w *web) get(x *exchange) {
	w.mu.Lock()
	_, lives := w.sessions[x.session()]
	w.mu.Unlock()
	switch {
	case w.s.faults["modern-only"]:
		x.rw.Header().Set("Allow", "POST")
		x.rw.WriteHeader(http.StatusMethodNotAllowed)
		return
	case !lives && !w.s.faults["nosession"]:
		x.refuse(http.StatusNotFound, -32001, "Session not found")
		return
	case !strings.Contains(x.r.Header.Get("Accept"), "text/event-stream"):
		x.rw.WriteHeader(http.StatusNotAcceptable)
		return
	}
	l := &listener{to: x}
	w.s.add(l) // before the client can know of the stream
	defer w.s.drop(l)
	x.begin()
	<-x.r.Context().Done()
}

func (w *web) delete(x *exchange) {
	w.mu.Lock()
	_, lives := w.sessions[x.session()]
	delete(w.sessions, x.session())
	w.mu.Unlock()
	switch {
	case w.s.faults["modern-only"], w.s.faults["nosession"]:
		x.rw.WriteHeader(http.StatusMethodNotAllowed)
	case !lives:
		x.refuse(http.StatusNotFound, -32001, "Session not found")
	}
}

// countUpTo counts one under a name and says whether it is among the first n.
func (w *web) countUpTo(name string, n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name]++
	return w.counts[name] <= n
}

// countEvery counts one under a name and says whether it is an n-th one.
func (w *web) countEvery(name string, n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name]++
	return w.counts[name]%n == 0
}

// httpFaults are the names of all faults of HTTP.
func httpFaults() []string {
	names := slices.Concat(httpSwitches, slices.Collect(maps.Keys(syntaxes)), slices.Collect(maps.Keys(certificates)))
	for _, g := range gates {
		names = append(names, g.name)
	}
	for _, f := range notes {
		names = append(names, f.name)
	}
	return names
}
