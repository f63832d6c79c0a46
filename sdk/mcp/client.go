package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

const (
	defaultProbeTimeout = 3 * time.Second
	defaultStopGrace    = 2 * time.Second
)

// ClientInfo is how the client introduces itself (MCP Implementation).
type ClientInfo struct {
	Name    string
	Version string
}

// Options configures Start and Dial. The zero value is usable.
type Options struct {
	ClientInfo ClientInfo // default {"collet", "0"}
	// ProbeTimeout is how long server/discover may stay unanswered before the
	// server counts as one of the initialize era; default 3 s.
	ProbeTimeout time.Duration
	// SkipProbe starts with initialize at once, for a server known to be of that
	// era. Should it refuse, it is probed after all.
	SkipProbe bool
	// StopGrace is the time a server of Start is given after the end of its stdin, and
	// again after SIGTERM; default 2 s.
	StopGrace time.Duration
	// OnNotification takes the server's notifications, one by one, those of a stream
	// in order, from before Start or Dial returns; progress is not among them. params
	// is nil when there are none. It runs on the goroutine that reads, so it must not
	// block nor make requests. With it, a server of 2026-07-28 is asked to tell of
	// changed lists (subscriptions/listen), and after a loss of what told of them
	// the lists count as changed: then the notification is the client's own.
	OnNotification func(method string, params json.RawMessage)
	// OnRequest answers the server's requests (sampling, elicitation, roots, ...),
	// ping excepted, which is always answered. Without it they are refused with
	// -32601. Servers only ask for what Capabilities declares.
	OnRequest Answerer
	// Capabilities is the JSON object of MCP ClientCapabilities that the handshake
	// declares; nil is {}. Requests to a modern server carry it, too, unless their
	// Meta holds its own.
	Capabilities json.RawMessage
	// LogLevel is what a server of the initialize era that declares logging is told
	// to send messages of ("info"; 2025-11-25, server/utilities/logging): some send none
	// before. Each session is told at its beginning; calls that come meanwhile wait up
	// to 2 s. "" tells nothing. A modern server is told with each request, in its Meta.
	LogLevel string
	// OnStderr takes each line of the stderr of a server of Start without its newline, at most
	// 64 KiB; the slice is valid during the call, which must not block for long.
	OnStderr func(line []byte)
	Log      *slog.Logger // default: discarded
}

func (o Options) withDefaults() Options {
	if o.ClientInfo.Name == "" {
		o.ClientInfo.Name = "collet"
	}
	if o.ClientInfo.Version == "" {
		o.ClientInfo.Version = "0" // MCP requires one
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = defaultProbeTimeout
	}
	if o.Capabilities == nil {
		o.Capabilities = json.RawMessage("{}")
	}
	if o.StopGrace <= 0 {
		o.StopGrace = defaultStopGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Answerer answers one request of the server. It runs on a goroutine of its own,
// at most 128 of them at a time. params is nil when there are none. ctx ends when
// the server cancels the request or the connection ends; Close waits for the
// return. The result must be a JSON object, sent as written. A *failure.Failure
// with an UpstreamCode becomes that JSON-RPC error, with its message and
// UpstreamData; any other error becomes -32603 without its text, which is none of
// a stranger's business.
type Answerer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// ServerInfo is what a server said of itself in its handshake.
type ServerInfo struct {
	ProtocolVersion string
	// Modern says that the server is of the server/discover era (2026-07-28 on).
	Modern       bool
	Info         json.RawMessage // MCP Implementation; nil when it gave none
	Capabilities json.RawMessage // nil when it gave none
	Instructions string
	// Raw is the whole InitializeResult or DiscoverResult; nil for a modern server
	// that only answered that it does not speak an older version.
	Raw json.RawMessage
}

// Progress is one progress notification. Total is 0 when unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// RequestOptions belongs to one request.
type RequestOptions struct {
	// Meta is a JSON object whose members go into params._meta as written, except
	// progressToken and the protocol version, which are the connection's own.
	Meta json.RawMessage
	// OnProgress takes the progress of this request, in order, until the request
	// returns and never after. It runs on the goroutine that reads, so it must not
	// block. Callers that give a request more time when it progresses do so here.
	OnProgress func(Progress)
	// OnRequest answers, in place of Options.OnRequest, what the server asks on the
	// stream of this request's own answer: over Streamable HTTP that says what the
	// question belongs to (2025-11-25, basic/transports). It may still run when the
	// request has returned. Options.OnRequest must be set as well.
	OnRequest Answerer
	// OnNotification takes what the server notifies of on that stream, progress
	// excepted, and reports whether that is all: else Options.OnNotification takes it
	// as well. It must not block.
	OnNotification func(method string, params json.RawMessage) bool
}

// Client is a connection to one MCP server. Its methods may be called from any
// goroutine.
type Client struct {
	opt     Options
	session *session
	link    link
	server  atomic.Pointer[ServerInfo] // never nil
	params  *paramHeaders              // nil where tools want no headers

	base context.Context // ends with the connection
	stop context.CancelFunc
	work sync.WaitGroup // what runs until base ends; Close waits for it

	level      atomic.Pointer[levelPending] // of the newest session; nil before there is one
	subscribed atomic.Bool
	watched    *watched
	ending     sync.Once
	done       chan struct{}
	err        *failure.Failure // set before done is closed
}

// link is what carries a client's messages: the pipes of a process, or HTTP.
type link interface {
	// do sends a request and waits for its answer, for ctx or for the end of the
	// connection.
	do(ctx context.Context, r request) (json.RawMessage, *failure.Failure)
	// established is told what the handshake found; to a server of the initialize
	// era it sends notifications/initialized, ahead of every later request.
	established(ctx context.Context, server ServerInfo) *failure.Failure
	// close ends the connection and waits, as Client.Close says.
	close(ctx context.Context) error
	stats() Stats
	// tail returns the server's last words, of which a person may learn more.
	tail() []string
}

func newClient(opt Options) *Client {
	c := &Client{opt: opt, watched: newWatched(), done: make(chan struct{})}
	c.base, c.stop = context.WithCancel(context.Background())
	c.server.Store(&ServerInfo{})
	return c
}

// end closes Done and fails what is open. The first end counts.
func (c *Client) end(why *failure.Failure) {
	c.ending.Do(func() {
		c.err = why
		close(c.done)
		c.stop()
		c.session.end(why)
	})
}

// Server returns what the server said of itself, last: over HTTP a new session may
// find another server at the same URL.
func (c *Client) Server() ServerInfo { return *c.server.Load() }

// Done is closed when the connection has ended, whoever ended it. The process
// may still be on its way out; Close waits for that.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the connection ended, a *failure.Failure; nil before Done.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Tail returns the last lines of the server's stderr, at most 64; nil over HTTP.
func (c *Client) Tail() []string { return c.link.tail() }

// Close ends the connection; open requests fail at once. A server started by
// Start gets the end of its stdin, and after StopGrace each its process group gets
// SIGTERM and then SIGKILL; a session over HTTP is ended with DELETE. Close waits
// until all is gone; when ctx ends before, what was politeness is cut short. Close
// may be called any number of times, also after the server ended by itself. The
// error is not nil only when a process could not be killed.
func (c *Client) Close(ctx context.Context) error { return c.link.close(ctx) }

// Stats counts what a server did wrong so far.
type Stats struct {
	JunkLines      int64 // pieces of output that were no messages
	InvalidUTF8    int64 // lines with bytes that are not UTF-8
	Oversized      int64 // messages over the size limit
	LateAnswers    int64 // answers nobody waited for any more, or ever
	RefusedRequest int64 // requests of the server for what we do not offer
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats { return c.link.stats() }

func statsOf(n *counts, s *session) Stats {
	return Stats{
		JunkLines:      n.junk.Load(),
		InvalidUTF8:    n.badText.Load(),
		Oversized:      n.oversized.Load(),
		LateAnswers:    s.late.Load(),
		RefusedRequest: s.refused.Load(),
	}
}

// Request sends any request. params is a JSON object or nil; it goes out as
// written, with a _meta member when the era, opt or params call for one. The
// result is the bytes the server wrote, always a JSON object; "resultType" may
// be "input_required", which is the caller's to answer. The error is a
// *failure.Failure.
//
// resources/subscribe and resources/unsubscribe work with servers of both eras: for a
// modern one, which does not know them, they change what the client's own
// subscriptions/listen asks for, if it has OnNotification. They outlive a session over
// HTTP; what a lost one would have told of counts as changed.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, opt RequestOptions) (json.RawMessage, error) {
	if (method == "resources/subscribe" || method == "resources/unsubscribe") && c.tells() {
		return result(c.watchResource(ctx, method, params))
	}
	raw, f := c.request(ctx, method, params, opt)
	if f == nil {
		c.note(method, params)
	}
	return result(raw, f)
}

// CallTool calls a tool. arguments is a JSON object, sent as written; nil is {}.
// The call always carries a progress token. Everything else is as in Request.
func (c *Client) CallTool(ctx context.Context, tool string, arguments json.RawMessage, opt RequestOptions) (json.RawMessage, error) {
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	if f := checkObject("the arguments", arguments); f != nil {
		return nil, f
	}
	if f := checkObject("_meta", opt.Meta); f != nil {
		return nil, f
	}
	return result(c.do(ctx, request{
		method:   "tools/call",
		name:     tool,
		args:     arguments,
		size:     len(tool) + len(arguments) + len(opt.Meta) + metaSize,
		progress: opt.OnProgress,
		asked:    opt.OnRequest,
		noted:    opt.OnNotification,
		write: func(b []byte, id uint64) []byte {
			b = append(b, `{"name":`...)
			b = appendString(b, tool)
			b = append(b, `,"arguments":`...)
			b = append(b, oneLine(arguments)...)
			b = append(b, `,"_meta":{`...)
			b = c.appendMeta(b, nil, opt.Meta, id)
			return append(b, "}}"...)
		},
	}))
}

// result keeps a nil *failure.Failure from becoming an error that is not nil.
func result(raw json.RawMessage, f *failure.Failure) (json.RawMessage, error) {
	if f != nil {
		return nil, f
	}
	return raw, nil
}

func (c *Client) request(ctx context.Context, method string, params json.RawMessage, opt RequestOptions) (json.RawMessage, *failure.Failure) {
	r, f := c.build(method, params, opt)
	if f != nil {
		return nil, f
	}
	return c.do(ctx, r)
}

// do sends a request and checks what the era demands of every result.
func (c *Client) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	c.awaitLevel(ctx, r.method)
	raw, f := c.link.do(ctx, r)
	if f != nil || !c.server.Load().Modern {
		return raw, f
	}
	// 2026-07-28: absent is complete, and an unknown value is an invalid result.
	if kind := member(raw, "resultType"); kind != nil {
		if s, _ := text(kind); s != "complete" && s != "input_required" {
			return nil, invalidAnswer("the server's result has the unknown resultType %s", spell(kind))
		}
	}
	return raw, nil
}
