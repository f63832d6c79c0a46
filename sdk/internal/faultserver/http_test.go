package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixture is a server over HTTP and a client without any opinion of its own.
type fixture struct {
	t       *testing.T
	url     string
	log     string
	client  *http.Client
	session string
}

func start(t *testing.T, faults string, args ...string) *fixture {
	t.Helper()
	logFile := filepath.Join(t.TempDir(), "log")
	s, err := configure(append([]string{"-http", "127.0.0.1:0", "-fault", faults, "-log", logFile}, args...))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(s)
	if l, err = w.secure(l); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup // handlers, which Close does not wait for
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		w.ServeHTTP(rw, r)
	})
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		running.Wait()
		s.logger.Close()
	})
	return &fixture{t: t, url: w.url, log: logFile, client: &http.Client{
		Transport:     transport,
		Timeout:       30 * time.Second, // reaching it is always a failure
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reply is a response, read to its end.
type reply struct {
	*http.Response
	body string
	err  error // of reading the body
}

func (f *fixture) do(method, body string, header ...string) reply {
	f.t.Helper()
	r := f.open(method, body, header...)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return reply{r, string(b), err}
}

func (f *fixture) open(method, body string, header ...string) *http.Response {
	f.t.Helper()
	r, err := f.client.Do(f.request(method, body, header...))
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) request(method, body string, header ...string) *http.Request {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if f.session != "" {
		r.Header.Set(sessionHeader, f.session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// initialize opens a session.
func (f *fixture) initialize() {
	f.t.Helper()
	f.session = ""
	r := f.do("POST", hello)
	if r.StatusCode != 200 || !strings.Contains(r.body, `"protocolVersion":"2025-11-25"`) {
		f.t.Fatalf("initialize: %s %s", r.Status, r.body)
	}
	f.session = r.Header.Get(sessionHeader)
}

func callBody(tool, args string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,"_meta":{"progressToken":7}}}`
}

func (f *fixture) call(tool, args string) reply { return f.do("POST", callBody(tool, args)) }

func (f *fixture) wantEcho() {
	f.t.Helper()
	if r := f.call("echo", `{"text":"hi"}`); r.StatusCode != 200 || !strings.Contains(r.body, `"text":"hi"`) {
		f.t.Errorf("echo: %s %s", r.Status, r.body)
	}
}

func (f *fixture) logged() string {
	f.t.Helper()
	b, err := os.ReadFile(f.log)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

func (r reply) want(t *testing.T, status int, kind, body string) {
	t.Helper()
	if r.StatusCode != status || r.Header.Get("Content-Type") != kind || !strings.Contains(r.body, body) || body == "" && r.body != "" {
		t.Errorf("answer %s, %q, %q; want %d, %q, %q", r.Status, r.Header.Get("Content-Type"), r.body, status, kind, body)
	}
}

const (
	inJSON   = "application/json"
	inStream = "text/event-stream"
	plainOne = "text/plain; charset=utf-8"
)

func TestLegacy(t *testing.T) {
	f := start(t, "")
	f.do("POST", callBody("echo", "{}")).want(t, 400, inJSON, "-32000")
	f.initialize()
	if f.session == "" {
		t.Fatal("no session id")
	}
	f.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(t, 202, "", "")
	f.wantEcho()
	f.do("POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`).want(t, 400, inJSON, "-32600")
	f.do("POST", `{`).want(t, 400, inJSON, "-32700")
	f.do("POST", callBody("echo", "{}"), sessionHeader, "other").want(t, 404, inJSON, "Session not found")
	f.do("POST", callBody("echo", "{}"), "MCP-Protocol-Version", "2026-07-28").want(t, 400, inJSON, "Unsupported protocol version")
	f.do("POST", callBody("echo", "{}"), "Accept", "application/json").want(t, 406, inJSON, "-32000")
	f.do("POST", callBody("echo", "{}"), "Content-Type", "text/plain").want(t, 415, inJSON, "-32000")
	f.do("PUT", "").want(t, 405, "", "")
	progress := f.call("t_progress", `{"ms":2,"step":1}`)
	progress.want(t, 200, inStream, event(notification("notifications/progress", `{"progressToken":7,"progress":1,"total":2,"message":"step 1"}`)))
	if !strings.HasSuffix(progress.body, event(`{"jsonrpc":"2.0","id":7,"result":`+textResult("done")+`}`)) {
		t.Errorf("progress ends in %q", progress.body)
	}
	f.do("DELETE", "").want(t, 200, "", "")
	f.call("echo", "{}").want(t, 404, inJSON, "Session not found")
	if log := f.logged(); !strings.Contains(log, `"event":"http"`) || !strings.Contains(log, `"Mcp-Session-Id":["`+f.session+`"]`) || strings.Count(log, `"method":"initialize"`) != 1 {
		t.Errorf("log: %s", log)
	}
}

// What belongs to no call goes to the GET stream, or else to the call.
func TestStreams(t *testing.T) {
	f := start(t, "")
	f.initialize()
	const changed = "notifications/tools/list_changed"
	f.call("x_grow", "{}").want(t, 200, inStream, changed)
	get := f.open("GET", "")
	defer get.Body.Close()
	f.call("x_grow", "{}").want(t, 200, inJSON, "grown")
	b := make([]byte, 200)
	if n, err := get.Body.Read(b); err != nil || !strings.Contains(string(b[:n]), changed) {
		t.Errorf("the GET stream has %q, %v", b[:n], err)
	}
	// A question comes on the call's stream and its answer by a POST of its own.
	ask := f.open("POST", callBody("a_ping", "{}"))
	defer ask.Body.Close()
	n, err := ask.Body.Read(b)
	if err != nil || !strings.Contains(string(b[:n]), `"method":"ping"`) {
		t.Fatalf("asked %q, %v", b[:n], err)
	}
	f.do("POST", `{"jsonrpc":"2.0","id":"srv-1","result":{}}`).want(t, 202, "", "")
	if rest, err := io.ReadAll(ask.Body); err != nil || !strings.Contains(string(rest), "client result: {}") {
		t.Errorf("after the answer: %q, %v", rest, err)
	}
}

// A client that closes the stream of a call is seen to.
func TestClosedStreamIsLogged(t *testing.T) {
	f := start(t, "")
	f.initialize()
	r := f.open("POST", callBody("t_progress_forever", "{}"))
	r.Body.Close()
	for until := time.Now().Add(30 * time.Second); !strings.Contains(f.logged(), `"event":"closed"`); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("never logged")
		}
	}
}

func modernBody(method, rest string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + rest + `"_meta":{"` + versionKey + `":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

func TestModern(t *testing.T) {
	for _, faults := range []string{"modern", "modern-only"} {
		f := start(t, faults)
		version := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method"}
		discover := modernBody("server/discover", "")
		f.do("POST", discover, append(version, "server/discover")...).want(t, 200, inJSON, "supportedVersions")
		call := modernBody("tools/call", `"name":"echo","arguments":{"text":"hi"},`)
		f.do("POST", call, append(version, "tools/call", "Mcp-Name", "echo")...).want(t, 200, inJSON, `"text":"hi"`)
		f.do("POST", call, append(version, "tools/call", "Mcp-Name", "=?base64?ZWNobw==?=")...).want(t, 200, inJSON, `"text":"hi"`)
		f.do("POST", call, append(version, "tools/call")...).want(t, 400, inJSON, "-32020")
		f.do("POST", call, append(version, "tools/list", "Mcp-Name", "echo")...).want(t, 400, inJSON, "-32020")
		f.do("POST", call, "Mcp-Method", "tools/call", "Mcp-Name", "echo").want(t, 400, inJSON, "-32020")
		f.do("POST", discover, "MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "server/discover").want(t, 400, inJSON, `"supported":["2026-07-28"]`)
		f.do("POST", modernBody("no/such", ""), append(version, "no/such")...).want(t, 404, inJSON, "-32601")
		f.do("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`, append(version, "tools/list")...).want(t, 400, inJSON, "-32020")
		if faults == "modern" {
			f.initialize()
			f.wantEcho()
			continue
		}
		f.do("POST", hello).want(t, 400, inJSON, "-32022")
		f.do("GET", "").want(t, 405, "", "")
		f.do("DELETE", "").want(t, 405, "", "")
	}
}

func TestSubscription(t *testing.T) {
	f := start(t, "modern")
	listen := f.open("POST", modernBody("subscriptions/listen", ""), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	defer listen.Body.Close()
	b := make([]byte, 400)
	n, err := listen.Body.Read(b)
	if err != nil || !strings.Contains(string(b[:n]), `notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}`) {
		t.Fatalf("first %q, %v", b[:n], err)
	}
	f.do("POST", modernBody("tools/call", `"name":"x_grow",`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "x_grow").want(t, 200, inJSON, "grown")
	n, err = listen.Body.Read(b)
	if err != nil || !strings.Contains(string(b[:n]), `list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}`) || !json.Valid(b[len("event: message\ndata: "):n]) {
		t.Errorf("then %q, %v", b[:n], err)
	}
}

// Faults of both transports are there over HTTP, too.
func TestSharedFaults(t *testing.T) {
	for faults, want := range map[string]string{
		"id-string":   `"id":"7"`,
		"errnull":     `"error":null`,
		"batch":       `[{"jsonrpc"`,
		"errnoid":     `"id":null`,
		"version-old": `"text":"hi"`,
	} {
		f := start(t, faults)
		f.session = f.do("POST", hello).Header.Get(sessionHeader)
		if r := f.call("echo", `{"text":"hi"}`); !strings.Contains(r.body, want) {
			t.Errorf("%s: %s", faults, r.body)
		}
	}
	f := start(t, "discover-odd")
	f.do("POST", modernBody("server/discover", "")).want(t, 200, inJSON, "odd")
}

func lengthOf(r reply) int {
	n, _ := strconv.Atoi(r.Header.Get("Content-Length"))
	return n
}
