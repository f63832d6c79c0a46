package mcp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// visit is one session of the initialize era at a server, from initialize to
// DELETE or until it expires: Mcp-Session-Id, where the server gave one, and the
// stream of what belongs to no request.
type visit struct {
	id, version string
	// guarded by httpLink.mu:
	turn    int
	calls   int
	retired bool
	stop    context.CancelFunc // ends the stream; nil when there is none
}

// settle closes the stream of a session that was replaced, with its last call.
func (v *visit) settle() {
	if v.retired && v.calls == 0 && v.stop != nil {
		v.stop()
		v.stop = nil
	}
}

// retry says whether a refused request should be made again, and what must
// happen before.
func (x *exchange) retry(status int, f *failure.Failure, own bool) func(context.Context) *failure.Failure {
	renew := func(ctx context.Context) *failure.Failure { return x.l.renew(ctx, x.turn) }
	if x.r.acknowledged != nil {
		return nil // a subscription is asked for again anyway
	}
	switch f.UpstreamCode {
	case codeMethodNotFound:
		if own {
			return nil // 2026-07-28 sends it with 404
		}
	case codeHeaderMismatch:
		if x.modern && x.r.method == "tools/call" {
			return x.learn(f)
		}
	}
	switch {
	case x.modern && isOldStatus(status) && (f.UpstreamCode == codeUnsupportedVersion || !isModernError(f.UpstreamCode)):
		// Whatever serves the URL by now may be of the other era.
		return func(ctx context.Context) *failure.Failure {
			if g := renew(ctx); g != nil || x.l.c.Server().Modern {
				return f
			}
			return nil
		}
	case x.modern:
	case f.UpstreamCode == codeUnsupportedVersion, f.UpstreamCode == codeHeaderMismatch:
		return renew
	case x.visit == nil || x.visit.id == "":
	case status == http.StatusNotFound, status == http.StatusGone, status == http.StatusBadRequest && !own:
		return renew
	}
	return nil
}

// isModernError says whether a server of the modern era refuses requests with this
// JSON-RPC error and a status of 400 or 404. Others use what the protocol leaves to
// them (-32000 to -32019).
func isModernError(code int) bool {
	return code < codeInvalidRequest && code >= -32699 || code <= codeHeaderMismatch && code >= -32099
}

// learn lists the tools: the server misses headers that a tool's schema asks for
// (2026-07-28, Streamable HTTP, Client Behavior).
func (x *exchange) learn(f *failure.Failure) func(context.Context) *failure.Failure {
	return func(ctx context.Context) *failure.Failure {
		if _, err := x.l.c.ListTools(ctx); err != nil {
			return f
		}
		return nil
	}
}

// renewal is a handshake for a new session, which all calls share that the old
// one was refused to.
type renewal struct {
	done chan struct{}
	f    *failure.Failure // once done is closed
}

// renew replaces the session of the given turn, unless somebody did already.
func (l *httpLink) renew(ctx context.Context, turn int) *failure.Failure {
	l.mu.Lock()
	if l.turn != turn || l.closed {
		l.mu.Unlock()
		return nil
	}
	r := l.renewing
	if r == nil {
		r = &renewal{done: make(chan struct{})}
		l.renewing = r
		l.c.work.Go(func() { l.again(r) })
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.f
	case <-ctx.Done():
		return contextFailure(ctx, failure.NotSent, "the request for a new session")
	}
}

func (l *httpLink) again(r *renewal) {
	ctx, cancel := context.WithTimeout(l.c.base, renewTimeout)
	defer cancel()
	l.c.opt.Log.Info("the server does not know this session any more; starting a new one")
	level := l.c.levelPending() // before the session is there for others to call in
	f := l.c.handshake(ctx, l.c.Server().Modern)
	if f != nil {
		level.over()
		g := *f
		g.Message = "the server ended the session and gave no new one: " + f.Message
		if g.Delivery != failure.Answered {
			g.Delivery = failure.NotSent // the request itself was refused
		}
		r.f = &g
	} else {
		l.c.tellLevel(level)
		l.c.subscribe()
	}
	l.mu.Lock()
	l.renewing = nil
	l.mu.Unlock()
	close(r.done)
	if f == nil {
		l.c.changed() // a server that forgot its sessions may have been started anew
		l.c.resubscribe()
	}
}

// established implements link: it puts the new session into the old one's place.
func (l *httpLink) established(ctx context.Context, server ServerInfo) *failure.Failure {
	l.mu.Lock()
	v := l.fresh
	l.fresh = nil
	l.mu.Unlock()
	if server.Modern {
		v = nil
	}
	if v != nil {
		v.version = server.ProtocolVersion
		// What a server thinks of the notification shows in the first call.
		l.notify(ctx, v, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	opened := make(chan struct{})
	l.mu.Lock()
	if old := l.visit; old != nil {
		old.retired = true
		old.settle()
	}
	l.visit = v
	l.turn++
	if v != nil {
		v.turn = l.turn
	}
	if v != nil && !l.closed && (l.c.opt.OnNotification != nil || l.c.opt.OnRequest != nil) {
		var streamCtx context.Context
		streamCtx, v.stop = context.WithCancel(l.c.base)
		l.c.work.Go(func() { l.follow(streamCtx, v, sync.OnceFunc(func() { close(opened) })) })
	} else {
		close(opened)
	}
	l.mu.Unlock()
	wait := time.NewTimer(openWait)
	defer wait.Stop()
	select {
	case <-opened:
	case <-wait.C:
	case <-ctx.Done():
	}
	return nil
}

// deliver posts a message of the outbox.
func (l *httpLink) deliver(ctx context.Context, message []byte) {
	if l.c.Server().Modern {
		return // 2026-07-28 has no such messages
	}
	l.mu.Lock()
	v := l.visit
	l.mu.Unlock()
	l.notify(ctx, v, message)
}

// notify posts what is no request. Any 2xx is success, whatever comes with it.
func (l *httpLink) notify(ctx context.Context, v *visit, message []byte) {
	resp, err := l.roundTrip(ctx, http.MethodPost, l.postHeader(v), &outgoing{message: message})
	if err != nil {
		l.c.opt.Log.Debug("could not send a notification or an answer to the server", "error", l.wireFailure(err, failure.DeliveryUnknown))
		return
	}
	if resp.StatusCode/100 != 2 {
		l.c.opt.Log.Debug("the server refused a notification or an answer", "status", resp.Status)
	}
	discard(resp)
}

func (l *httpLink) postHeader(v *visit) http.Header {
	header := l.streamHeader(v, "")
	header["Content-Type"], header["Accept"] = jsonType, bothTypes
	return header
}

// bye ends a session at the server, which need not agree.
func (v *visit) bye(l *httpLink) {
	if v.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(l.hurry, byeTimeout)
	defer cancel()
	resp, err := l.roundTrip(ctx, http.MethodDelete, l.streamHeader(v, ""), nil)
	if err != nil {
		l.c.opt.Log.Debug("could not end the session at the server", "error", err)
		return
	}
	discard(resp)
}

// aside takes what is on a stream that answers no request.
type aside struct{ s *session }

// message implements receiver.
func (a aside) message(e envelope) {
	if e.method != nil || e.id != nil && !isNull(e.id) {
		a.s.receive(e, nil)
	}
}

// broken implements receiver: nobody waits for it.
func (aside) broken(_, _ []byte, _ string, _ bool) {}

const (
	// followDelay is the first pause before a stream that ended is opened again;
	// it doubles up to maxFollowDelay, and starts over after a stream that lasted
	// longer than the pause before it.
	followDelay    = time.Second
	maxFollowDelay = time.Minute
	// openWait is how long a handshake waits for the stream's header: what servers
	// send or ask while there is no stream, many of them drop. Some send no header
	// before their first event, so it is short.
	openWait = 250 * time.Millisecond
)

// follow reads the stream of what belongs to no request (2025-11-25, Streamable
// HTTP, Listening for Messages from the Server) until ctx ends. Servers need not
// have one: what is no stream is an answer, too. opened is called once the server
// has answered, or cannot be reached.
func (l *httpLink) follow(ctx context.Context, v *visit, opened func()) {
	id, delay, lasted := "", followDelay, false
	for {
		began := time.Now()
		streamed, retry, err := l.listen(ctx, v, &id, opened)
		if ctx.Err() != nil {
			return
		}
		if f, ok := errors.AsType[*failure.Failure](err); ok {
			if lasted && v.id != "" && (f.UpstreamCode == http.StatusNotFound || f.UpstreamCode == http.StatusGone) {
				// The session ended while nobody called, as with a server that was started
				// anew: whoever waits for changes must not wait for the next call, too.
				_ = l.renew(ctx, v.turn)
				return
			}
			l.c.opt.Log.Debug("the server has no stream for notifications", "reason", f.Message)
			return
		}
		if streamed && time.Since(began) > delay {
			delay, lasted = followDelay, true
		}
		pause := time.NewTimer(max(delay, min(retry, maxFollowDelay)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		delay = min(2*delay, maxFollowDelay)
	}
}

// listen reads one stream to its end, if there was one. A *failure.Failure says
// that there is none to be had.
func (l *httpLink) listen(ctx context.Context, v *visit, id *string, opened func()) (streamed bool, retry time.Duration, err error) {
	resp, err := l.roundTrip(ctx, http.MethodGet, l.streamHeader(v, *id), nil)
	opened()
	if err != nil {
		return false, 0, err
	}
	defer resp.Body.Close()
	if !isEventStream(resp) {
		if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented {
			return false, 0, errors.New(resp.Status)
		}
		f := failure.New(failure.ServerError, failure.Answered, "status %s, content of type %q", showStatus(resp), resp.Header.Get("Content-Type"))
		f.UpstreamCode = resp.StatusCode
		return false, 0, f
	}
	s := newSSEReader(resp.Body, wire.MaxLine)
	defer s.release()
	d := decoder{to: aside{l.session}, log: l.c.opt.Log, max: wire.MaxLine, counts: &l.counts}
	for {
		e, err := s.next()
		if s.lastID != "" {
			*id = s.lastID
		}
		switch {
		case err != nil || e.unfinished:
			return true, s.retry, errors.New("the stream ended")
		case e.kind != "" && e.kind != "message":
			continue
		}
		if err := d.line(e.data); err != nil {
			return true, s.retry, err
		}
		d.end()
	}
}

// isOldStatus says whether a server may be one of the HTTP+SSE transport that
// refused a POST with this status, or one of the other era: not when the status
// is about the client or the moment.
func isOldStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}
