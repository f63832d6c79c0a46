package main

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// exchange is one HTTP request and its response: the sink of the message in it.
type exchange struct {
	web *web
	rw  http.ResponseWriter
	r   *http.Request
	m   message

	mu     sync.Mutex
	begun  bool
	stream bool // an event stream, once begun
	events int  // written so far
	zip    *gzip.Writer
	over   bool          // nothing can be written any more
	done   chan struct{} // closed with the answer
}

func (x *exchange) session() string { return x.r.Header.Get(sessionHeader) }

func (x *exchange) isCall() bool { return x.m.Method == "tools/call" }

func (x *exchange) has(fault string) bool { return x.web.s.faults[fault] }

// write implements sink.
func (x *exchange) write(text string, final bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.r.Context().Err() != nil {
		return false
	}
	if x.isCall() && (x.has("sse-stall") || x.has("sse-trickle")) {
		return true
	}
	if final && x.isCall() && x.lose(text) {
		x.finish()
		return true
	}
	if !x.begun {
		stream := !final && !x.has("json") || x.has("sse") || x.has("sse-keepopen") && x.isCall()
		for name := range syntaxes {
			stream = stream || x.has(name)
		}
		if !final && !stream {
			return true // there is nowhere to say it
		}
		x.start(stream)
	}
	switch {
	case x.stream:
		x.events++
		x.web.s.syntax()(sent{text, x.events == 1, final}, x.emit)
		if final && !(x.isCall() && x.has("sse-keepopen")) {
			x.finish()
		}
	case final:
		x.document(text)
		x.finish()
	}
	return true
}

// lose deals with the answer of a call that was run and whose answer is not to
// arrive.
func (x *exchange) lose(text string) bool {
	switch {
	case x.has("500-after"):
		http.Error(x.rw, "something broke", http.StatusInternalServerError)
	case x.has("rst"), x.has("rst-each") && x.web.countEvery("rst-each", x.web.s.n):
		x.hijack(func(c net.Conn) {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // then close sends RST
			}
		})
	case x.has("hangup"):
		x.hijack(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(text))+"\r\n\r\n"+text[:len(text)/2])
		})
	default:
		return false
	}
	return true
}

// hijack takes the connection from HTTP and closes it after do.
func (x *exchange) hijack(do func(net.Conn)) {
	c, _, err := http.NewResponseController(x.rw).Hijack()
	if err != nil {
		fatal(err.Error())
	}
	do(c)
	c.Close()
}

// begin starts the response with an event stream.
func (x *exchange) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun {
		x.start(true)
	}
}

func (x *exchange) start(stream bool) {
	x.begun, x.stream = true, stream
	h := x.rw.Header()
	if x.has("gzip") {
		h.Set("Content-Encoding", "gzip")
		x.zip = gzip.NewWriter(x.rw)
	}
	if !stream {
		h.Set("Content-Type", "application/json")
		return
	}
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	x.flush()
}

// emit writes bytes and sends them off.
func (x *exchange) emit(b string) {
	var w io.Writer = x.rw
	if x.zip != nil {
		w = x.zip
	}
	io.WriteString(w, b) // an error shows as the end of the request's context
	x.flush()
}

func (x *exchange) flush() {
	if x.zip != nil {
		x.zip.Flush()
	}
	_ = http.NewResponseController(x.rw).Flush()
}

// document writes a whole JSON body.
func (x *exchange) document(text string) {
	if x.isCall() && x.has("slow-body") {
		x.emit(text[:len(text)/2])
		x.pause(x.web.s.delay)
		text = text[len(text)/2:]
	}
	x.emit(text)
}

func (x *exchange) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-x.r.Context().Done():
	}
}

// leave ends the response where it is.
func (x *exchange) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.finish()
	}
}

func (x *exchange) finish() {
	x.over = true
	if x.zip != nil {
		x.zip.Close()
	}
	close(x.done)
}

// wait returns when the request is answered or its client has left.
func (x *exchange) wait() {
	var tick <-chan time.Time
	if x.has("sse-trickle") && x.isCall() {
		t := time.NewTicker(trickle)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-x.done:
			return
		case <-x.r.Context().Done():
			x.web.s.log("closed", string(x.m.ID))
			return
		case <-tick:
			x.mu.Lock()
			x.emit(": keepalive\n\n")
			x.mu.Unlock()
		}
	}
}

// close ends the exchange: the response must not be touched once the handler has
// returned.
func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
}

// refuse answers with an HTTP status and a JSON-RPC error.
func (x *exchange) refuse(status, code int, text string) { x.fail(status, rpcError(code, text)) }

func (x *exchange) fail(status int, fault string) {
	id := string(x.m.ID)
	if id == "" {
		id = "null"
	}
	x.reply(status, "application/json", answer{id: id, fault: fault}.String())
}

// reply answers with a body of any kind.
func (x *exchange) reply(status int, kind, body string) {
	if kind != "" {
		x.rw.Header().Set("Content-Type", kind)
	}
	x.rw.WriteHeader(status)
	io.Copy(x.rw, strings.NewReader(body))
}
