package check

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"context"
)

// The faults that the fake upstream itself plays.
const (
	faultSilent       = "silent"
	faultUnauthorized = "unauthorized"
	faultForbidden    = "unprocessable"
	faultRateLimited  = "rate-limited"
	faultBroken       = "broken"
	faultTruncated    = "truncated"
)

// retryAfter is what the rate-limited upstream asks for, in seconds: a number that
// nobody makes up.
const retryAfter = 17

// maxRequest bounds what the fake upstream reads of a request, in bytes: more than
// the largest arguments that are sent.
const maxRequest = 64 << 20

// upstream is the other end of what the plugin talks to. It answers as its handler
// does, or plays a fault with every request.
type upstream struct {
	base   string
	proxy  string
	server *http.Server
	asked  *http.Server // what a plugin takes for its proxy
	inner  http.Handler
	end    func()
	count  atomic.Int64

	mu        sync.Mutex
	fault     string
	holding   int
	canceled  bool
	changed   chan struct{} // closed at the next change of the two above
	wasPlayed int           // requests that met the fault
	released  chan struct{} // closed when the fault is over
}

func openUpstream(inner http.Handler) (*upstream, error) {
	u := &upstream{inner: inner, end: func() {}, changed: make(chan struct{}), released: make(chan struct{})}
	if inner == nil {
		u.inner, u.end = mcpUpstream()
	}
	listen := func(h http.Handler) (*http.Server, string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", fmt.Errorf("a port for the fake upstream: %w", err)
		}
		server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }()
		return server, "http://" + l.Addr().String(), nil
	}
	var err error
	if u.server, u.base, err = listen(u); err != nil {
		u.end()
		return nil, err
	}
	u.asked, u.proxy, err = listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		u.count.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	if err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *upstream) close() {
	u.play("")
	_ = u.server.Close()
	if u.asked != nil {
		_ = u.asked.Close()
	}
	u.end()
}

func (u *upstream) url() string      { return u.base }
func (u *upstream) proxyURL() string { return u.proxy }
func (u *upstream) forget()          { u.count.Store(0) }
func (u *upstream) proxied() int64   { return u.count.Load() }

// play has every request from now on meet a fault; "" is none. What waits is let go.
func (u *upstream) play(fault string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fault, u.canceled, u.wasPlayed = fault, false, 0
	close(u.released)
	u.released = make(chan struct{})
}

// played is how many requests met the fault.
func (u *upstream) played() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.wasPlayed
}

// held waits until the number of requests that are waiting for an answer is right.
func (u *upstream) held(ctx context.Context, right func(int) bool) bool {
	for {
		u.mu.Lock()
		n, canceled, changed := u.holding, u.canceled, u.changed
		u.mu.Unlock()
		if right(n) {
			return true
		}
		if canceled && !right(1) { // somebody waits for none: being told is as good
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// toldToCancel says whether an MCP client has said that it waits no more.
func (u *upstream) toldToCancel() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.canceled
}

func (u *upstream) change(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f()
	close(u.changed)
	u.changed = make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	fault, released := u.fault, u.released
	if fault != "" {
		u.wasPlayed++
	}
	u.mu.Unlock()
	if fault == "" {
		u.inner.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	text := func(status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	switch fault {
	case faultSilent:
		if bytes.Contains(body, []byte(`"notifications/cancelled"`)) {
			u.change(func() { u.canceled = true })
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusMethodNotAllowed) // no call waits for these
			return
		}
		if bytes.Contains(body, []byte(`"subscriptions/listen"`)) { // nor for this, which stays open for as long as there are news
			r.Body = io.NopCloser(bytes.NewReader(body))
			u.inner.ServeHTTP(w, r)
			return
		}
		u.change(func() { u.holding++ })
		select {
		case <-r.Context().Done():
		case <-released:
		}
		u.change(func() { u.holding-- })
		panic(http.ErrAbortHandler) // whoever still listens hears no answer
	case faultUnauthorized:
		w.Header().Set("WWW-Authenticate", challenge)
		text(http.StatusUnauthorized, `{"message":"the credential is not valid"}`)
	case faultForbidden:
		text(http.StatusUnprocessableEntity, `{"message":"a member is not what it has to be"}`)
	case faultRateLimited:
		w.Header().Set("Retry-After", fmt.Sprint(retryAfter))
		text(http.StatusTooManyRequests, `{"message":"come back later"}`)
	case faultBroken:
		text(http.StatusInternalServerError, `{"message":"something broke"}`)
	case faultTruncated:
		w.Header().Set("Content-Length", "4096")
		text(http.StatusOK, `{"jsonrpc":"2.0","result":{"content":[{"type":"te`)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// challenge is the WWW-Authenticate header of the upstream that refuses a credential.
const challenge = `Bearer realm="verify", error="invalid_token"`
