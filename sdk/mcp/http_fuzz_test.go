package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// FuzzResponse: whatever a server answers a request with, the request ends, with
// a result that is a JSON object or with a failure that says something.
func FuzzResponse(f *testing.F) {
	f.Add(uint8(0), "application/json", []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add(uint8(0), "text/event-stream", []byte("id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\n\ndata: \"result\":{}}\n\n"))
	f.Add(uint8(0), "text/event-stream", []byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}"))
	f.Add(uint8(1), "application/json", []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"data":{"supported":["2025-11-25"]}}}`))
	f.Add(uint8(2), "text/html", []byte(`<p>`))
	c, l, failed := open(Endpoint{URL: "http://127.0.0.1:1/"}, Options{}.withDefaults())
	if failed != nil {
		f.Fatal(failed)
	}
	f.Cleanup(func() { c.Close(context.Background()) })
	statuses := []int{200, 400, 401, 404, 410, 429, 500, 502, 503, 202, 204, 304}
	f.Fuzz(func(t *testing.T, status uint8, kind string, body []byte) {
		x := &exchange{l: l, r: request{method: "tools/call", write: func(b []byte, _ uint64) []byte { return append(b, "{}"...) }}}
		x.ctx, x.cancel = context.WithCancel(t.Context())
		defer x.cancel()
		x.decoder = decoder{to: x, log: c.opt.Log, max: wire.MaxLine, counts: &counts{}}
		l.session.mu.Lock()
		l.session.next = 0
		l.session.mu.Unlock()
		call, fail := l.session.begin(t.Context(), x.r, x.cancel)
		if fail != nil {
			t.Fatal(fail)
		}
		x.call = call
		x.modern = true // no stream is taken up again
		defer l.session.remove(call.id)
		resp := &http.Response{
			StatusCode: statuses[int(status)%len(statuses)], ProtoMajor: 2, ContentLength: -1,
			Header: http.Header{"Content-Type": {kind}, "Retry-After": {kind}, "Www-Authenticate": {kind}},
			Body:   io.NopCloser(bytes.NewReader(body)),
		}
		if resp.StatusCode/100 == 2 {
			fail = x.read(resp)
		} else if fail, _ = x.refused(resp); fail == nil {
			t.Fatal("a refusal without a failure")
		}
		select {
		case a := <-call.answer:
			if fail = a.err; fail == nil && checkObject("the result", a.result) != nil {
				t.Errorf("the result is %q", a.result)
			}
		default:
		}
		if fail != nil && (fail.Message == "" || fail.RetryAfter < 0) {
			t.Errorf("%+v", fail)
		}
	})
}
