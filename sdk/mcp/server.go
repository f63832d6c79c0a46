package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

const (
	defaultMaxBody     = 16 << 20
	defaultMaxSessions = 1000
	defaultSessionIdle = 30 * time.Minute
	// defaultKeepAlive is below the minute after which common proxies give up on a
	// connection nothing is sent on.
	defaultKeepAlive = 25 * time.Second
)

// Handler is what a server does. Its methods are called from many goroutines.
type Handler interface {
	// Describe says what the server is to this client; it is called for initialize,
	// server/discover and subscriptions/listen.
	Describe(ctx context.Context, c *Caller) Description
	// Handle answers one request other than those of the protocol itself: initialize,
	// server/discover, ping, logging/setLevel, subscriptions/listen and
	// resources/subscribe with its opposite never come here. ctx ends when the client
	// cancels the request or is gone.
	//
	// The result is a JSON object, sent as written; what the modern era wants of
	// every result, resultType and serverInfo in _meta, is added where it is missing.
	// Of errors, ErrMethodNotFound and a *WireError are sent as they are, and a
	// *failure.Failure with an UpstreamCode becomes that JSON-RPC error with its
	// Message and UpstreamData. Any other becomes -32603 without its text, which is
	// none of a stranger's business.
	Handle(ctx context.Context, r *Incoming) (json.RawMessage, error)
}

// Watcher is a Handler with resources that can be watched: resources/subscribe,
// and subscriptions/listen for resources. What changed is said with
// Server.Notify("notifications/resources/updated", ...).
type Watcher interface {
	// Watch notes that a client wants to know of changes of uri, until release is
	// called, once. ctx is the request's. An error is sent as one of Handle.
	Watch(ctx context.Context, c *Caller, uri string) (release func(), err error)
}

// ReadyHandler is a Handler that has some answers ready.
type ReadyHandler interface {
	// Ready says whether Handle answers a request at once, without waiting for anything.
	// On stdio such a request is answered before the next one is read: to hand it to
	// another goroutine takes longer than a short answer does.
	Ready(c *Caller, method string) bool
}

// Description is what a server says of itself to one client.
type Description struct {
	Instructions string          // "" for none
	Capabilities json.RawMessage // MCP ServerCapabilities, a JSON object; nil is {}
	// TTL and CacheScope ("public", "private") say for how long and for whom a modern
	// client may keep a DiscoverResult; "" is "private".
	TTL        time.Duration
	CacheScope string
}

// Caller is one client as far as the wire knows it. It is not changed once a
// Handler has seen it, and not the same pointer with each request.
type Caller struct {
	// Version is the protocol version that was agreed on, and Modern whether it is one
	// of the era that began with 2026-07-28.
	Version string
	Modern  bool
	// Info and Capabilities are MCP Implementation and ClientCapabilities as the client
	// sent them; nil where it sent none.
	Info, Capabilities json.RawMessage
	Session            string // legacy HTTP session; "" otherwise
	// Principal is ServerOptions.Principal of the request at hand, and for Notify of the
	// session's last request; nil on stdio.
	Principal any
}

// Incoming is one request.
type Incoming struct {
	Caller *Caller
	Method string
	Params json.RawMessage // a JSON object as written; nil when there are none
	Meta   json.RawMessage // params._meta as written; nil when there is none
	// LogLevel is the least severe level that the client wants messages of: for this
	// request (modern) or since its logging/setLevel (legacy, "info" before). "" is
	// none at all.
	LogLevel string
	// Progress sends notifications/progress. params is a JSON object of progress,
	// total and message; the token is added. nil when the client gave none. Like Log
	// it never blocks: what a client that does not read is not sent is lost. After
	// Handle has returned both do nothing.
	Progress func(params json.RawMessage)
	// Log sends notifications/message, unless params.level is below LogLevel; nil when
	// the client wants none.
	Log func(params json.RawMessage)
	// Ask sends a request to a legacy client and waits for its result, always a JSON
	// object. nil for modern clients, which are never asked, and for those that
	// declared no capability to be asked for. The error is a *failure.Failure, of
	// delivery NotSent for a method that the client did not declare.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Prepared is for Handle to set: the result, in place of the one it returns.
	Prepared *Prepared
}

// WireError is a JSON-RPC error as it is sent. Over HTTP the modern era gives some
// codes a status: -32601 is 404; -32602 and -32020 to -32022 are 400.
type WireError struct {
	Code    int
	Message string
	Data    json.RawMessage // nil for none
}

// Error implements error.
func (e *WireError) Error() string { return e.Message }

// ErrMethodNotFound is Handle's answer to a method it does not know.
var ErrMethodNotFound error = &WireError{Code: codeMethodNotFound, Message: "Method not found"}

// ServerOptions configures NewServer. Name is all that is needed.
type ServerOptions struct {
	// Name, Title and Version are the server's MCP Implementation; Version is "0" by
	// default.
	Name, Title, Version string
	// MaxBody bounds the body of an HTTP request in bytes; default 16 MiB. A message
	// over stdio is bounded by 64 MiB.
	MaxBody int64
	// MaxSessions bounds the legacy HTTP sessions that are kept; default 1,000. The
	// one that was used longest ago makes room for a new one, and one of the same
	// principal where that has half of them.
	MaxSessions int
	// SessionIdle is how long a legacy HTTP session is kept that nobody uses: no
	// request, no open stream; default 30 min.
	SessionIdle time.Duration
	// KeepAlive is how long an event stream stays silent at most before a comment is
	// sent; default 25 s.
	KeepAlive time.Duration
	// Principal says who sent a request over HTTP; nil is nobody in particular.
	Principal func(r *http.Request) any
	// SamePrincipal says whether two principals are the same; a legacy session is
	// closed to all but its own. nil compares with ==.
	SamePrincipal func(a, b any) bool
	// InputSchema returns the inputSchema of a tool by its name in tools/call, nil when
	// there is none: modern HTTP clients repeat some arguments in headers, as the
	// schema says, which is checked. nil checks none.
	InputSchema func(ctx context.Context, c *Caller, tool string) json.RawMessage
	Log         *slog.Logger // default: discarded
}

func (o ServerOptions) withDefaults() ServerOptions {
	if o.Version == "" {
		o.Version = "0" // MCP requires one
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	o.MaxBody = min(o.MaxBody, wire.MaxLine)
	if o.MaxSessions <= 0 {
		o.MaxSessions = defaultMaxSessions
	}
	if o.SessionIdle <= 0 {
		o.SessionIdle = defaultSessionIdle
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.Principal == nil {
		o.Principal = func(*http.Request) any { return nil }
	}
	if o.SamePrincipal == nil {
		o.SamePrincipal = func(a, b any) bool { return a == b }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server serves one Handler to any number of clients, of both protocol eras at
// once. Its methods may be called from any goroutine.
type Server struct {
	handler Handler
	watcher Watcher      // nil when the handler is none
	ready   ReadyHandler // likewise
	opt     ServerOptions
	info    []byte // MCP Implementation

	base context.Context // ends when a close has no time left
	stop context.CancelFunc
	over chan struct{}  // closed when the server is being closed
	work sync.WaitGroup // connections and HTTP requests

	guests guests
	olds   oldClients

	mu       sync.Mutex
	closed   bool
	audience map[*listener]struct{}
}

// NewServer prepares a server. Close must be called in the end.
func NewServer(h Handler, opt ServerOptions) *Server {
	s := &Server{handler: h, opt: opt.withDefaults(), over: make(chan struct{}), audience: map[*listener]struct{}{}}
	s.watcher, _ = h.(Watcher)
	s.ready, _ = h.(ReadyHandler)
	s.base, s.stop = context.WithCancel(context.Background())
	s.info = append([]byte(`{"name":`), appendString(nil, s.opt.Name)...)
	if s.opt.Title != "" {
		s.info = append(append(s.info, `,"title":`...), appendString(nil, s.opt.Title)...)
	}
	s.info = append(append(append(s.info, `,"version":`...), appendString(nil, s.opt.Version)...), '}')
	s.guests.init(s)
	return s
}

var errServerClosed = errors.New("the server is closed")

// enter counts a connection or a request that Close has to wait for; false means
// that the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// closeLimit is how long requests may take to end once they are cancelled.
const closeLimit = 5 * time.Second

// Close takes nothing more, ends subscriptions and streams, and waits for what is
// being answered; when ctx ends, that is cancelled, and the error says so. ServeStdio
// returns.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.over)
	}
	s.mu.Unlock()
	s.guests.hush()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.work.Wait()
	}()
	defer s.guests.close()
	select {
	case <-gone:
		s.stop()
		return nil
	case <-ctx.Done():
		s.stop()
	}
	select {
	case <-gone:
	case <-time.After(closeLimit): // what goes on, if so, does not look at its ctx
	}
	return ctx.Err()
}
