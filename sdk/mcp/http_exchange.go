package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// maxErrorBody is how much of an error's body is read, in bytes: a JSON-RPC error,
// or an excerpt for a person.
const maxErrorBody = 64 << 10

// exchange is one request over HTTP until its answer.
type exchange struct {
	l       *httpLink
	r       request
	call    *call
	ctx     context.Context // the caller's, and ends with the connection
	cancel  context.CancelFunc
	modern  bool
	visit   *visit // the session it belongs to; nil when there is none
	turn    int
	stream  bool // the answer comes as events
	decoder decoder
}

// try makes one attempt. again is not nil when the server refused the request
// because it does not know this client any more: after again the request may be
// made once more.
func (l *httpLink) try(ctx context.Context, r request) (raw json.RawMessage, f *failure.Failure, again func(context.Context) *failure.Failure) {
	x := &exchange{l: l, r: r}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	x.ctx, x.cancel = inner, cancel
	x.decoder = decoder{to: x, log: l.c.opt.Log, max: wire.MaxLine, counts: &l.counts}
	x.call, f = l.session.begin(ctx, r, cancel)
	if f != nil {
		return nil, f, nil
	}
	defer x.call.waitProgress()
	defer l.session.remove(x.call.id)
	header := x.enter()
	defer x.leave()

	resp, err := l.roundTrip(inner, http.MethodPost, header, &x.call.outgoing)
	if err != nil {
		return x.lost(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		f, again = x.refused(resp)
	} else {
		if r.opening != "" && !x.modern {
			x.visit.id = resp.Header.Get(sessionHeader)
		}
		f = x.read(resp)
	}
	select {
	case a := <-x.call.answer: // whatever was wrong otherwise
		return a.result, a.err, nil
	default:
	}
	if f == nil && again == nil {
		f = invalidAnswer("the server's response to %s holds no answer", r.method)
	}
	if f != nil && ctx.Err() != nil {
		return x.lost(ctx, ctx.Err())
	}
	return nil, f, again
}

// enter joins the session of the moment and returns the request's header.
func (x *exchange) enter() http.Header {
	l := x.l
	header := make(http.Header, len(l.header)+8)
	for name, values := range l.header {
		header[name] = values
	}
	header["Content-Type"] = jsonType
	header["Accept"] = bothTypes
	server := l.c.server.Load()
	version := server.ProtocolVersion
	l.mu.Lock()
	x.turn = l.turn
	switch {
	case x.r.opening == modernVersion:
		version, x.modern = modernVersion, true
	case x.r.opening != "":
		l.fresh = &visit{}
		x.visit = l.fresh
	default:
		x.modern = server.Modern
		x.visit = l.visit
	}
	if x.visit != nil {
		version = x.visit.version // "" before initialize has settled it
		x.visit.calls++
	}
	l.mu.Unlock()
	if x.modern {
		header["Mcp-Method"] = []string{x.r.method}
		if x.r.name != "" {
			header["Mcp-Name"] = []string{headerValue(x.r.name)}
		}
		if x.r.args != nil {
			l.tools.set(header, x.r.name, x.r.args)
		}
	} else if x.visit != nil && x.visit.id != "" {
		header[sessionHeader] = []string{x.visit.id}
	}
	if version >= firstVersionHeader {
		header[versionHeader] = []string{version}
	}
	return header
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version" // MCP-Protocol-Version, as net/http spells it
	// firstVersionHeader is the first version that has the header.
	firstVersionHeader = "2025-06-18"
)

var (
	jsonType   = []string{"application/json"}
	bothTypes  = []string{"application/json, text/event-stream"}
	eventsType = []string{"text/event-stream"}
)

func (x *exchange) leave() {
	if v := x.visit; v != nil {
		x.l.mu.Lock()
		defer x.l.mu.Unlock()
		v.calls--
		v.settle()
	}
}

// lost is the end of an exchange whose answer did not come whole.
func (x *exchange) lost(ctx context.Context, err error) (json.RawMessage, *failure.Failure, func(context.Context) *failure.Failure) {
	delivery := failure.DeliveryUnknown
	if x.l.out.withdraw(&x.call.outgoing) {
		delivery = failure.NotSent
	}
	if x.l.session.remove(x.call.id) == nil {
		a := <-x.call.answer // it came at the same moment, or the connection ended
		return a.result, a.err, nil
	}
	if ctx.Err() == nil {
		return nil, x.l.wireFailure(err, delivery), nil
	}
	if delivery != failure.NotSent && !x.modern && !x.r.uncancelable {
		x.l.session.sendCancel(x.call.id)
	}
	return nil, contextFailure(ctx, delivery, x.r.method), nil
}

// read reads the response to a request.
func (x *exchange) read(resp *http.Response) *failure.Failure {
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return invalidAnswer("the server answered %s in the encoding %q, which nobody asked for", x.r.method, encoding)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		x.stream = true
		return x.events(resp)
	}
	body, err := readBody(resp, wire.MaxLine)
	switch start := skipSpace(body.data, 0); {
	case err != nil:
		return x.l.wireFailure(err, failure.DeliveryUnknown)
	case body.size == 0:
		return invalidAnswer("the server answered %s with status %d and nothing else", x.r.method, resp.StatusCode)
	case kind != "application/json" && !strings.HasSuffix(kind, "+json") && start < len(body.data) && !isBracket(body.data[start]):
		return invalidAnswer("the server answered %s with content of type %q, which is no MCP: %s", x.r.method, resp.Header.Get("Content-Type"), quote(body.data))
	}
	if err := x.decoder.line(body); err != nil {
		return invalidAnswer("%w", err)
	}
	x.decoder.end()
	return nil
}

func isBracket(c byte) bool { return c == '{' || c == '[' }

// message implements receiver.
func (x *exchange) message(e envelope) {
	if x.modern && e.method != nil && e.id != nil {
		// 2026-07-28: a server asks in results, and a client posts no answers.
		x.l.session.refused.Add(1)
		x.l.c.opt.Log.Debug("ignored a request of the server on a stream", "method", quote(e.method))
		return
	}
	x.l.session.receive(e, x.call)
}

// broken implements receiver.
func (x *exchange) broken(head, tail []byte, why string, oversized bool) {
	id, ok := idOfBroken(head, tail)
	if ok && id == x.call.id || !ok && (oversized || !x.stream) {
		x.l.session.answer(x.call.id, nil, invalidAnswer("%s", why))
	}
}

// answered says whether there is nothing to wait for any more.
func (x *exchange) answered() bool { return len(x.call.answer) > 0 }

// readBody reads a body as one line: whole, or its beginning and end when it is
// over the limit.
func readBody(resp *http.Response, max int) (line, error) {
	if n := resp.ContentLength; n >= 0 && n <= readBuffer {
		b := make([]byte, n)
		_, err := io.ReadFull(resp.Body, b)
		return line{data: b, size: n}, err
	}
	var (
		parts [][]byte
		size  int
	)
	defer func() { partPool.put(parts) }()
	for {
		p := partPool.get()
		var err error
		for err == nil && len(p) < cap(p) {
			var n int
			n, err = resp.Body.Read(p[len(p):cap(p)])
			p = p[:len(p)+n]
		}
		parts = append(parts, p)
		switch size += len(p); {
		case size > max:
			return cut(parts[:len(parts)-1], p, size), nil
		case errors.Is(err, io.EOF):
			return line{data: bytes.Join(parts, nil), size: int64(size)}, nil
		case err != nil:
			return line{}, err
		}
	}
}
