package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
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

// Options configures Start. The zero value is usable.
type Options struct {
	ClientInfo ClientInfo // default {"collet", "0"}
	// ProbeTimeout is how long server/discover may stay unanswered before the
	// server counts as one of the initialize era; default 3 s.
	ProbeTimeout time.Duration
	// SkipProbe starts with initialize at once, for a server known to be of that
	// era. Should it refuse, it is probed after all.
	SkipProbe bool
	// StopGrace is the time a server is given after the end of its stdin, and
	// again after SIGTERM; default 2 s.
	StopGrace time.Duration
	// OnNotification takes the server's notifications, in order, from before Start
	// returns; progress is not among them. params is nil when there are none. It
	// runs on the goroutine that reads, so it must not block nor make requests.
	OnNotification func(method string, params json.RawMessage)
	// OnRequest answers the server's requests (sampling, elicitation, roots, ...),
	// ping excepted, which is always answered. Without it they are refused with
	// -32601. Servers only ask for what Capabilities declares.
	OnRequest Answerer
	// Capabilities is the JSON object of MCP ClientCapabilities that the handshake
	// declares; nil is {}. Requests to a modern server carry it, too, unless their
	// Meta holds its own.
	Capabilities json.RawMessage
	// OnStderr takes each line of the server's stderr without its newline, at most
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
// at most 16 of them at a time. params is nil when there are none. ctx ends when
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
}

// Client is a connection to one MCP server. Its methods may be called from any
// goroutine.
type Client struct {
	opt     Options
	process *process
	session *session
	server  ServerInfo

	done chan struct{}
	err  *failure.Failure // set before done is closed
	gone chan struct{}    // closed when nothing of the connection is left
}

// Start starts a server, finds out its era and shakes hands with it. ctx bounds
// all of that and nothing after. The error is a *failure.Failure: whatever
// happened, no tool was called, so its delivery is NotSent unless the server
// answered. After an error nothing of the server is left running.
func Start(ctx context.Context, cmd Command, opt Options) (*Client, error) {
	opt = opt.withDefaults()
	if f := checkObject("the client's capabilities", opt.Capabilities); f != nil {
		return nil, f
	}
	c, f := start(cmd, opt)
	if f != nil {
		return nil, f
	}
	f = c.handshake(ctx, !opt.SkipProbe)
	if f != nil && !opt.SkipProbe && ctx.Err() == nil && c.diedProbing(f) {
		opt.Log.Debug("the server ended when probed; starting it again without the probe")
		c.abandon()
		if c, f = start(cmd, opt); f != nil {
			return nil, f
		}
		f = c.handshake(ctx, false)
	}
	if f != nil {
		f = c.startFailure(f)
		c.abandon()
		return nil, f
	}
	return c, nil
}

// start starts the process with a session on top.
func start(cmd Command, opt Options) (*Client, *failure.Failure) {
	p, f := startProcess(cmd, opt)
	if f != nil {
		return nil, f
	}
	c := &Client{opt: opt, process: p, done: make(chan struct{}), gone: make(chan struct{})}
	c.session = newSession(p.writer, opt.Log, opt.OnNotification)
	if opt.OnRequest != nil {
		c.session.answers = newAnswers(opt.OnRequest, c.session.reply)
	}
	p.decoder = &decoder{to: c.session, log: opt.Log, max: wire.MaxLine}
	p.onEnd = c.end
	go func() { // Close waits for it
		defer close(c.gone)
		p.run()
		if a := c.session.answers; a != nil {
			a.running.Wait()
		}
	}()
	return c, nil
}

// end closes Done and fails what is open; the process calls it once.
func (c *Client) end(why *failure.Failure) {
	c.err = why
	close(c.done)
	c.session.end(why)
}

// abandon ends a server that failed its handshake; there is nothing to wait for
// politely.
func (c *Client) abandon() {
	c.process.hasten()
	_ = c.Close(context.Background())
}

// Server returns what the server said of itself.
func (c *Client) Server() ServerInfo { return c.server }

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

// Tail returns the last lines of the server's stderr, at most 64.
func (c *Client) Tail() []string { return c.process.lines.last() }

// Close ends the server: open requests fail at once, stdin is closed, and after
// StopGrace each the server's process group gets SIGTERM and then SIGKILL. It
// waits until all is gone; when ctx ends before, the graces are cut short. Close
// may be called any number of times, also after the server ended by itself. The
// error is not nil only when a process could not be killed.
func (c *Client) Close(ctx context.Context) error {
	c.process.close()
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		c.process.hasten()
	case <-time.After(2*c.opt.StopGrace + killWait + time.Second):
	}
	select {
	case <-c.process.gone: // what goes on, if so, is the caller's own OnRequest
		return nil
	case <-time.After(killWait + time.Second):
		return failure.New(failure.Timeout, failure.DeliveryUnknown, "process %d of the server cannot be killed", c.process.cmd.Process.Pid)
	}
}

// Stats counts what a server did wrong so far.
type Stats struct {
	JunkLines      int64 // pieces of output that were no messages
	InvalidUTF8    int64 // lines with bytes that are not UTF-8
	Oversized      int64 // messages over the size limit
	LateAnswers    int64 // answers nobody waited for any more, or ever
	RefusedRequest int64 // requests of the server for what we do not offer
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	d, s := c.process.decoder, c.session
	return Stats{
		JunkLines:      d.junk.Load(),
		InvalidUTF8:    d.badText.Load(),
		Oversized:      d.oversized.Load(),
		LateAnswers:    s.late.Load(),
		RefusedRequest: s.refused.Load(),
	}
}

// Request sends any request. params is a JSON object or nil; it goes out as
// written, with a _meta member when the era, opt or params call for one. The
// result is the bytes the server wrote, always a JSON object; "resultType" may
// be "input_required", which is the caller's to answer. The error is a
// *failure.Failure.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, opt RequestOptions) (json.RawMessage, error) {
	return result(c.request(ctx, method, params, opt))
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
		size:     len(tool) + len(arguments) + len(opt.Meta) + metaSize,
		progress: opt.OnProgress,
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
	raw, f := c.session.do(ctx, r)
	if f != nil || !c.server.Modern {
		return raw, f
	}
	// 2026-07-28: absent is complete, and an unknown value is an invalid result.
	if kind := member(raw, "resultType"); kind != nil {
		if s, _ := text(kind); s != "complete" && s != "input_required" {
			return nil, invalidAnswer("the server's result has the unknown resultType %s", quote(kind))
		}
	}
	return raw, nil
}
