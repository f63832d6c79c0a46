package host

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/front/guard"
	front "github.com/collet-dev/collet/host/internal/front/mcp"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/mcp"
)

// Front is the host's MCP face: one MCP server behind which all others are. Make
// it with Host.Front and close it before the host.
type Front struct {
	host   *Host
	face   *front.Front
	wire   *mcp.Server
	ctx    context.Context // of its work
	cancel context.CancelFunc
	stop   func() // of the subscription
	work   sync.WaitGroup
	sight  atomic.Pointer[sight]
	news   chan struct{} // something happened that may change the list
	began  time.Time     // to start the servers

	preparing sync.Once // for scripts

	settled chan struct{} // closed when every server has had its first start
}

// Front opens the host's MCP face and begins to start the servers, so that they
// are there when a client asks. What they offered an earlier host stands for them
// until then. Nothing is served until one of its methods is called.
func (h *Host) Front() *Front {
	h.asks.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	h.hub.Recall(ctx)
	f := &Front{host: h, ctx: ctx, cancel: cancel, began: time.Now(), news: make(chan struct{}, 1), settled: make(chan struct{})}
	f.face = front.New(view{f})
	f.wire = mcp.NewServer(f.face, mcp.ServerOptions{
		Name: "collet", Version: h.opt.Version, Log: h.opt.Log,
		Principal: func(r *http.Request) any {
			if p := guard.FromContext(r.Context()); p != nil {
				return p
			}
			return nil
		},
		SamePrincipal: samePrincipal,
		InputSchema:   f.face.InputSchema,
	})
	f.stop = h.Subscribe(func(e Event) { f.heard(ctx, e) })
	f.work.Go(func() {
		f.start(ctx)
		close(f.settled)
	})
	f.work.Go(func() { f.announce(ctx) })
	return f
}

func samePrincipal(a, b any) bool {
	one, _ := a.(*guard.Principal)
	other, _ := b.(*guard.Principal)
	return one == other || guard.Same(one, other)
}

// ServeStdio serves one client over in and out until in ends or ctx does.
func (f *Front) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return f.wire.ServeStdio(ctx, in, out)
}

// Handler serves Streamable HTTP, both eras at one endpoint. It checks neither
// Host nor credentials: what reaches it may use everything.
func (f *Front) Handler() http.Handler { return f.host.told.Continue(f.wire.HTTP()) }

// SSE serves the HTTP+SSE transport of 2024-11-05: the stream, and where its client
// posts, which must be mounted at /mcp/message beside it. It checks as little as
// Handler.
func (f *Front) SSE() (stream, message http.Handler) {
	stream, message = f.wire.SSE()
	return stream, f.host.told.Continue(message)
}

// Settled says whether every server has had its first start, however it went.
func (f *Front) Settled() bool {
	select {
	case <-f.settled:
		return true
	default:
	}
	// The last one may have told a client of its tools a moment ago.
	hub := f.host.hub
	return !slices.ContainsFunc(hub.Names(), func(n string) bool { s := hub.Server(n); return s != nil && !s.Settled() })
}

// Close ends what is being served, after the answers in flight or with ctx.
func (f *Front) Close(ctx context.Context) error {
	err := f.wire.Close(ctx)
	f.stop()
	f.face.Close()
	f.cancel()
	f.work.Wait()
	return err
}

// start brings every server up that has not listed its tools yet. Servers start
// side by side and one that does not come up delays nobody but itself.
func (f *Front) start(ctx context.Context) {
	f.host.hub.Recall(ctx) // of those that a change of the configuration has brought
	f.host.hub.Ready(ctx, f.host.hub.Names(), false)
}

// heard is told of every event, and must not block.
func (f *Front) heard(ctx context.Context, e Event) {
	if e.ConfigChanged != nil {
		// A server that has come with it is listed once it has said its tools. Close
		// unsubscribes, which waits for this, before it waits for the work.
		f.work.Go(func() { f.start(ctx) })
	}
	switch {
	case e.Notified != nil:
		method, params := f.face.Notification(e.Notified.Server, e.Notified.Method, e.Notified.Params)
		f.wire.Notify(method, params, func(c *mcp.Caller) bool { return f.face.Concerns(c, e.Notified.Server) })
	case e.ServerChanged != nil && e.ServerChanged.State == string(server.Ready):
		name := e.ServerChanged.Server
		f.face.Returned(name, func(params json.RawMessage) {
			f.wire.Notify("notifications/resources/updated", params, func(c *mcp.Caller) bool { return f.face.Concerns(c, name) })
		})
		f.face.CameUp(name, f.tell)
	case e.CatalogChanged != nil, e.ConfigChanged != nil:
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
}

// announceWait lets the lists of servers that start together become one change.
const announceWait = 50 * time.Millisecond

// announce tells clients that the list has changed, if it has.
func (f *Front) announce(ctx context.Context) {
	for {
		select {
		case <-f.news:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(announceWait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		f.tell("notifications/tools/list_changed", f.face.Changed())
		f.face.Reconfigured(f.tell)
	}
}

func (f *Front) tell(method string, concerned func(*mcp.Caller) bool) {
	f.wire.Notify(method, json.RawMessage(`{}`), concerned)
}

// view is what the face sees of the host.
type view struct{ *Front }

// Settled implements front.Host.
func (v view) Settled(ctx context.Context, concerns func(server string) bool) {
	for _, n := range v.host.hub.Names() {
		if concerns(n) {
			v.settle(ctx, n, false)
		}
	}
}

// Settling implements front.Host.
func (v view) Settling(concerns func(server string) bool) bool {
	hub := v.host.hub
	return slices.ContainsFunc(hub.Names(), func(n string) bool {
		s := hub.Server(n)
		return s != nil && concerns(n) && s.Settling()
	})
}

// Arrived implements front.Host.
func (v view) Arrived(ctx context.Context, server string) bool { return v.settle(ctx, server, true) }

// settle waits for one server, at most for connect_wait since it was first wanted.
func (v view) settle(ctx context.Context, name string, asked bool) bool {
	s := v.host.hub.Server(name)
	if s == nil {
		return false
	}
	since := s.Since()
	if since.Before(v.began) {
		since = v.began
	}
	wait := v.host.hub.Config().Host.ConnectWait
	// The answer is to be there within connect_wait: some of it is left to write it.
	return s.Settle(ctx, since.Add(wait-min(wait/20, 50*time.Millisecond)), asked)
}

// Plain implements front.Host.
func (v view) Plain() bool { return v.host.hub.Config().Host.WireNames == "plain" }

// Identifiers implements front.Host.
func (v view) Identifiers() func(*catalog.Tool) (server, tool string) {
	return v.host.hub.Identifiers()
}

// SamePrincipal implements front.Host.
func (v view) SamePrincipal(a, b any) bool { return samePrincipal(a, b) }

// SameRights implements front.Host.
func (v view) SameRights(a, b any) bool {
	one, _ := a.(*guard.Principal)
	other, _ := b.(*guard.Principal)
	return guard.SameRights(one, other)
}

// Call implements front.Host.
func (v view) Call(ctx context.Context, req Request) (*Result, error) { return v.host.Call(ctx, req) }

// Forward implements front.Host.
func (v view) Forward(ctx context.Context, req ForwardRequest) (json.RawMessage, error) {
	return v.host.Forward(ctx, req)
}

var _ front.Host = view{}
