package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// oldLink is the link to a server of the HTTP+SSE transport (2024-11-05): one
// event stream carries all that the server says, the first event names the URL to
// which the client posts. The stream is the connection.
type oldLink struct {
	*httpLink
}

// endpointWait is how long the first event may take: servers send it at once, and a
// stream that is silent is one of another kind.
const endpointWait = 5 * time.Second

// dialOld opens a connection to a server of that transport. old says whether it
// has the event stream that makes it one.
func dialOld(ctx context.Context, at Endpoint, opt Options) (c *Client, f *failure.Failure, old bool) {
	c, base, f := open(at, opt)
	if f != nil {
		return nil, f, false
	}
	l := &oldLink{httpLink: base}
	c.link = l
	c.params = nil
	base.out.post = l.deliver
	if old, f = l.connect(ctx); f == nil {
		f = c.initialize(ctx)
	}
	if f != nil {
		base.abandon()
		return nil, f, old
	}
	c.tellLevel(c.levelPending())
	return c, nil, true
}

// connect opens the stream and waits for its first event within ctx.
func (l *oldLink) connect(ctx context.Context) (streams bool, f *failure.Failure) {
	stream, end := context.WithCancel(l.c.base)
	ctx, cancel := context.WithTimeout(ctx, endpointWait)
	defer cancel()
	defer context.AfterFunc(ctx, end)()
	resp, err := l.roundTrip(stream, http.MethodGet, l.streamHeader(nil, ""), nil)
	switch {
	case err != nil:
		return false, l.wireFailure(err, failure.NotSent)
	case !isEventStream(resp):
		discard(resp)
		return false, invalidAnswer("the server has no event stream: status %s, content of type %q", showStatus(resp), resp.Header.Get("Content-Type"))
	}
	s := newSSEReader(resp.Body, wire.MaxLine)
	if f := l.endpoint(s); f != nil {
		s.release()
		resp.Body.Close()
		return ctx.Err() == nil, f
	}
	l.c.work.Go(func() {
		defer resp.Body.Close()
		defer s.release()
		l.c.end(l.read(s))
	})
	return true, nil
}

// endpoint reads the first event, which names the URL to post to.
func (l *oldLink) endpoint(s *sseReader) *failure.Failure {
	e, err := s.next()
	if err != nil {
		f := l.wireFailure(err, failure.NotSent)
		f.Message = "the server's event stream ended before it named an endpoint"
		return f
	}
	if e.kind != "endpoint" {
		return invalidAnswer("the server's event stream begins with %s and names no endpoint", quote([]byte(e.kind)))
	}
	from := l.url.Load()
	to, err := from.Parse(string(bytes.TrimSpace(e.data.data)))
	if err != nil {
		return invalidAnswer("the server's endpoint %s is no URL", quote(e.data.data))
	}
	if !sameOrigin(from, to) || to.Scheme != from.Scheme {
		f := invalidAnswer("the server's endpoint %s://%s leads to another origin; nothing was sent to it", to.Scheme, to.Host)
		f.Delivery = failure.NotSent
		return f
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	l.url.Store(to)
	return nil
}

// read reads the stream to its end and says why it ended.
func (l *oldLink) read(s *sseReader) *failure.Failure {
	d := decoder{to: l.session, log: l.c.opt.Log, max: wire.MaxLine, counts: &l.counts}
	for {
		e, err := s.next()
		if err == nil && !e.unfinished {
			if e.kind == "" || e.kind == "message" {
				err = d.line(e.data)
				d.end()
			}
		} else if err == nil {
			err = io.EOF
		}
		if err != nil {
			f := l.wireFailure(err, failure.DeliveryUnknown)
			f.Message = "the server's event stream ended: " + f.Message
			return f
		}
	}
}

func (l *oldLink) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	c, f := l.session.begin(ctx, r, cancel)
	if f != nil {
		return nil, f
	}
	resp, err := l.roundTrip(inner, http.MethodPost, l.postHeader(nil), &c.outgoing)
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		delivery := failure.DeliveryUnknown
		if l.out.withdraw(&c.outgoing) {
			delivery = failure.NotSent
		}
		f = l.wireFailure(err, delivery)
	case resp.StatusCode/100 != 2:
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		resp.Body.Close()
		f = l.statusFailure(r.method, resp, body, errorIn(body))
	default:
		discard(resp)
	}
	if f != nil && l.session.remove(c.id) != nil {
		c.waitProgress()
		return nil, f
	}
	return l.session.await(ctx, r, c)
}

// established implements link.
func (l *oldLink) established(ctx context.Context, _ ServerInfo) *failure.Failure {
	l.notify(ctx, nil, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return nil
}

func (l *oldLink) deliver(ctx context.Context, message []byte) { l.notify(ctx, nil, message) }
