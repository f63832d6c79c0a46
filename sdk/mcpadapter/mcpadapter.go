// Package mcpadapter makes an upstream MCP server an adapter.Server: it is what
// most plugins consist of. It connects in the background, passes tools,
// arguments and results on as the bytes they are, reports the upstream's health
// and changes, and connects again on demand after the upstream ended.
//
// It never repeats a call, and neither connects nor lists again before somebody
// needs the server. It judges no content, schemas or annotations by itself: what
// an adapter knows better of its upstream, it says in a Shape.
package mcpadapter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// An adapter has 1.5 s to close (adapter.Server). A stdio upstream is given
// stopGrace after the end of its stdin and again after SIGTERM; what is left
// when closeTimeout ends is killed.
const (
	stopGrace    = 500 * time.Millisecond
	closeTimeout = 1300 * time.Millisecond
)

// leastTTL is how long a list counts as fresh at least, whatever the upstream says:
// some say 0 of every list, and a call must not cost a listing.
const leastTTL = time.Minute

// codeMethodNotFound is JSON-RPC 2.0 section 5.1.
const codeMethodNotFound = -32601

// Upstream is a connection to one MCP server; *mcp.Client is one. Its methods
// are called from any goroutine, and their errors are failures (package failure).
type Upstream interface {
	Server() mcp.ServerInfo
	ReadTools(ctx context.Context) (mcp.ToolList, error)
	CallTool(ctx context.Context, tool string, arguments json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error)
	Request(ctx context.Context, method string, params json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error)
	// Done is closed when the connection has ended; Err then says why.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection. It may be called again, and after Done.
	Close(ctx context.Context) error
}

// Options say how to reach the upstream.
type Options struct {
	// Connect opens a connection and shakes hands; ctx bounds it and ends when the
	// adapter closes. It runs once at a time: first in New, later when a call finds
	// the upstream gone. opt holds what the adapter needs of the client
	// (notifications, questions, stderr, log, times); Connect may fill in the rest, such as
	// ClientInfo. An error that is a *failure.Failure is passed on as it is.
	Connect func(ctx context.Context, env *adapter.Env, opt mcp.Options) (Upstream, error)
	// Remote says that Connect starts nothing: it reaches a server that runs by
	// itself. Then every use of an upstream that is gone connects at once, where one
	// that has to be started is left alone for a while after each end.
	Remote bool
	// Shape is what the adapter makes of the upstream.
	Shape Shape
}

// New returns a server that has begun to connect and does not wait for it. It
// is an adapter.Watcher, an adapter.Forwarder and an io.Closer too.
func New(env *adapter.Env, opt Options) adapter.Server { return newServer(env, opt) }

func newServer(env *adapter.Env, opt Options) *server {
	s := &server{env: env, shape: opt.Shape, relist: make(chan struct{}, 1)}
	s.makeOwn()
	s.link = newLink(func(ctx context.Context) (Upstream, error) {
		up, err := opt.Connect(ctx, env, s.listens(mcp.Options{
			StopGrace:      stopGrace,
			OnNotification: s.notified,
			LogLevel:       "info",
			OnStderr:       func(line []byte) { env.Log.Info(string(line), "from", "upstream") },
			Log:            env.Log,
		}))
		return up, s.explained(err)
	}, opt.Remote, s)
	s.link.work.Go(s.watchTools)
	s.link.start(env.StartBy)
	return s
}

type server struct {
	env     *adapter.Env
	shape   Shape
	own     own
	link    *link
	news    bulletin
	running runningRequests
	// resources are what a new upstream has to be subscribed to again.
	resources subscriptions
	relist    chan struct{} // capacity 1: the list of tools may have changed
}

var (
	_ Upstream          = (*mcp.Client)(nil)
	_ adapter.Watcher   = (*server)(nil)
	_ adapter.Forwarder = (*server)(nil)
	_ adapter.Closer    = (*server)(nil)
)

// Tools implements adapter.Server. It waits for the connection within ctx.
func (s *server) Tools(ctx context.Context) ([]adapter.Tool, error) {
	if s.own.err != nil {
		return nil, s.own.err
	}
	s.news.wanted.Store(true)
	l, err := s.listNow(ctx)
	if err != nil {
		if !s.shape.Alone {
			return nil, err
		}
		l = s.alone()
	}
	s.news.listed(l)
	return l.tools, nil
}

func (s *server) listNow(ctx context.Context) (*list, error) {
	up, err := s.link.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return s.list(ctx, up)
}

// list is all tools of the upstream at one moment.
type list struct {
	tools    []adapter.Tool
	revision string
	due      time.Time // when it is due again, by the upstream's word; zero is never
}

// list asks for all tools. Servers without any need not know the method, and
// servers that have some need not declare it, so only asking tells.
func (s *server) list(ctx context.Context, up Upstream) (*list, error) {
	got, err := up.ReadTools(ctx)
	s.heard(up, err)
	if err != nil {
		f := failure.Classify(err)
		if f.UpstreamCode == codeMethodNotFound && !gjson.GetBytes(up.Server().Capabilities, "tools").Exists() {
			return s.alone(), nil
		}
		return nil, s.explained(err)
	}
	tools := append(make([]adapter.Tool, 0, len(s.own.list)+len(got.Tools)), s.own.list...)
	for _, definition := range got.Tools {
		name := gjson.GetBytes(definition, "name")
		if name.Type != gjson.String || name.Str == "" {
			s.env.Log.Warn("left out a tool of the upstream that has no name")
			continue
		}
		if tool, ok := s.shaped(adapter.Tool{Name: name.Str, Definition: definition}); ok {
			tools = append(tools, tool)
		}
	}
	l := &list{tools: tools, revision: revision(tools)}
	if got.HasTTL {
		l.due = time.Now().Add(max(got.TTL, leastTTL))
	}
	return l, nil
}

// Close implements io.Closer. It waits for everything that New started, for
// 1.3 s at most.
func (s *server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return s.link.close(ctx)
}
