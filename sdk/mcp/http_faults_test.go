package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// requests are the HTTP requests that a server logged, as "POST tools/call".
func (w web) requests(t *testing.T) []httpEvent {
	t.Helper()
	var all []httpEvent
	for _, e := range w.events(t) {
		switch e.Event {
		case "http":
			var h httpEvent
			if err := json.Unmarshal(e.Message, &h); err != nil {
				t.Fatal(err)
			}
			all = append(all, h)
		case "in":
			all[len(all)-1].message = e.Message
		}
	}
	return all
}

type httpEvent struct {
	Method, Path string
	Headers      map[string][]string
	message      json.RawMessage
}

func (h httpEvent) rpc() string {
	m, _ := text(member(h.message, "method"))
	return m
}

// times counts the requests of an HTTP method and, unless "", an RPC method.
func (w web) times(t *testing.T, method, rpc string) int {
	t.Helper()
	n := 0
	for _, h := range w.requests(t) {
		if h.Method == method && (rpc == "" || h.rpc() == rpc) {
			n++
		}
	}
	return n
}

// Whatever syntax events have, the calls of both eras succeed.
func TestEventSyntax(t *testing.T) {
	for _, fault := range []string{"sse-multidata", "sse-crlf", "sse-cr", "sse-noevent", "sse-nospace", "sse-comment", "sse-bom", "sse-priming",
		"sse-unknown", "sse-split", "sse-noend", "sse-keepopen"} {
		for _, era := range []string{"", ",modern", ",gzip"} {
			t.Run(fault+era, func(t *testing.T) {
				w := serve(t, fault+era)
				c := dial(t, Endpoint{URL: w.url}, Options{})
				for range 3 {
					if got := said(t, callTool(t, c, "echo", `{"text":"naïve 世界"}`)); got != "naïve 世界" {
						t.Errorf("echo says %q", got)
					}
				}
				if got := said(t, callTool(t, c, "c_big", `{"size":300000}`)); len(got) != 300000 {
					t.Errorf("c_big says %d bytes", len(got))
				}
				if n := w.times(t, "POST", "tools/call"); n != 4 {
					t.Errorf("%d calls arrived, want 4", n)
				}
			})
		}
	}
}

// Odd answers to notifications are success.
func TestNotificationAnswers(t *testing.T) {
	for _, fault := range []string{"note-204", "note-200empty", "note-200null", "note-200obj", "note-202text"} {
		t.Run(fault, func(t *testing.T) {
			c := dial(t, Endpoint{URL: serve(t, fault).url}, Options{})
			echoes(t, c)
		})
	}
}

// The optional stream can neither block nor fail anything.
func TestOptionalStream(t *testing.T) {
	for _, fault := range []string{"get405", "get404", "get400", "get401", "get200json", "get-silent", "get-close"} {
		t.Run(fault, func(t *testing.T) {
			w := serve(t, fault)
			c := dial(t, Endpoint{URL: w.url}, Options{OnNotification: func(string, json.RawMessage) {}})
			echoes(t, c)
			if err := c.Close(within(t)); err != nil {
				t.Error(err)
			}
			if n := w.times(t, "GET", ""); n > 1 {
				t.Errorf("%d GETs", n)
			}
		})
	}
}

// How calls fail, and that the next one may succeed.
func TestCallFaults(t *testing.T) {
	for _, test := range []struct {
		fault    string
		class    failure.Class
		delivery failure.Delivery
		code     int
		parts    []string
		calls    int // that arrive
	}{
		{"429-plain", failure.RateLimited, failure.Answered, 429, []string{"429 Too Many Requests"}, 1},
		{"429-long", failure.RateLimited, failure.Answered, 429, []string{"1h0m0s"}, 1},
		{"500-after", failure.ServerError, failure.Answered, 500, []string{"500", "something broke"}, 1},
		{"rst", failure.ConnectionRefused, failure.DeliveryUnknown, 0, []string{"connection"}, 1},
		{"hangup", failure.ConnectionRefused, failure.DeliveryUnknown, 0, []string{"closed the connection before its answer was complete"}, 1},
		{"call-202", failure.InvalidResult, failure.Answered, 0, []string{"202"}, 1},
		{"call-html", failure.InvalidResult, failure.Answered, 0, []string{"text/html", "Sign in"}, 1},
		{"call-empty", failure.InvalidResult, failure.Answered, 0, []string{"200", "nothing"}, 1},
		{"call-403", failure.AuthFailure, failure.Answered, 403, []string{"403", "Sign in"}, 1},
		{"call-400", failure.ServerError, failure.Answered, -32000, []string{"Bad Request"}, 2}, // once more in a new session
		{"call-400,modern", failure.ServerError, failure.Answered, -32000, []string{"Bad Request"}, 1},
		{"badjson", failure.InvalidResult, failure.Answered, 0, []string{"not valid JSON"}, 1},
		{"both", failure.InvalidResult, failure.Answered, 0, []string{"both"}, 1},
		{"neither", failure.InvalidResult, failure.Answered, 0, []string{"neither"}, 1},
		{"repeat", failure.InvalidResult, failure.Answered, 0, []string{"twice"}, 1},
		{"errnoid", failure.ServerError, failure.Answered, -32700, []string{"Parse error"}, 1},
		{"errnoid,sse", failure.ServerError, failure.Answered, -32700, []string{"Parse error"}, 1},
	} {
		t.Run(test.fault, func(t *testing.T) {
			w := serve(t, test.fault)
			c := dial(t, Endpoint{URL: w.url}, Options{})
			f := callFails(t, c, "echo", `{"text":"x"}`)
			wantFailure(t, f, test.class, test.delivery, test.parts...)
			if f.UpstreamCode != test.code {
				t.Errorf("upstream code %d, want %d", f.UpstreamCode, test.code)
			}
			if n := w.times(t, "POST", "tools/call"); n != test.calls {
				t.Errorf("%d calls arrived, want %d", n, test.calls)
			}
			if _, err := c.ListTools(within(t)); err != nil {
				t.Errorf("the client did not live on: %v", err)
			}
			select {
			case <-c.Done():
				t.Errorf("done: %v", c.Err())
			default:
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for fault, limits := range map[string][2]time.Duration{
		"429": {time.Second, time.Second}, "503": {time.Second, time.Second}, "429-date": {time.Millisecond, 2 * time.Second},
		"429-long": {time.Hour, time.Hour}, "429-plain": {0, 0},
	} {
		t.Run(fault, func(t *testing.T) {
			c := dial(t, Endpoint{URL: serve(t, fault, "-n", "1").url}, Options{})
			f := callFails(t, c, "echo", "{}")
			wantFailure(t, f, failure.RateLimited, failure.Answered)
			if f.RetryAfter < limits[0] || f.RetryAfter > limits[1] {
				t.Errorf("retry after %s, want %s to %s", f.RetryAfter, limits[0], limits[1])
			}
			if fault == "429" || fault == "503" || fault == "429-date" {
				echoes(t, c)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	secret := map[string][]string{"X-Secret": {"s3cret"}, "Authorization": {"Bearer t"}}
	for _, fault := range []string{"redirect307", "redirect308", "redirect307,modern", "redirect307,sse"} {
		t.Run(fault, func(t *testing.T) {
			w := serve(t, fault)
			c := dial(t, Endpoint{URL: w.url, Header: secret}, Options{})
			echoes(t, c)
			echoes(t, c)
			for i, h := range w.requests(t) {
				if h.Headers["X-Secret"] == nil || h.Headers["Authorization"] == nil {
					t.Errorf("request %d lacks the configured header: %v", i, h.Headers)
				}
				if h.rpc() == "tools/call" && h.Path != "/mcp/" {
					t.Errorf("the final URL was not remembered: a call went to %s", h.Path)
				}
			}
		})
	}
	t.Run("other origin", func(t *testing.T) {
		other := serve(t, "")
		w := serve(t, "redirect-cross", "-sibling", other.url)
		f := dialFails(t, Endpoint{URL: w.url, Header: secret})
		wantFailure(t, f, failure.ServerError, failure.NotSent, other.url, "another origin")
		if n := len(other.requests(t)); n != 0 {
			t.Errorf("%d requests reached the other origin", n)
		}
	})
	for fault, part := range map[string]string{
		"redirect301": "/mcp/", "redirect302": "/mcp/", "redirect-loop": "more than 3 times", "redirect-meta": "169.254.7.7", "redirect-file": "file:///etc/hostname",
	} {
		t.Run(fault, func(t *testing.T) {
			w := serve(t, fault)
			began := time.Now()
			f := dialFails(t, Endpoint{URL: w.url, Header: secret})
			wantFailure(t, f, failure.ServerError, failure.NotSent, part, "redirects")
			if f.UpstreamCode < 301 || f.UpstreamCode > 308 {
				t.Errorf("upstream code %d", f.UpstreamCode)
			}
			want := 1
			if fault == "redirect-loop" {
				want = 1 + maxHops
			}
			if n := len(w.requests(t)); n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
			if took := time.Since(began); took > deadline/3 {
				t.Errorf("it took %s: somebody dialled", took)
			}
		})
	}
}

func dialFails(t *testing.T, at Endpoint) *failure.Failure {
	t.Helper()
	c, err := Dial(within(t), at, Options{})
	if err == nil {
		c.Close(context.Background())
		t.Fatal("Dial succeeded")
	}
	return asFailure(t, err)
}

func TestTLS(t *testing.T) {
	cert := filepath.Join(t.TempDir(), "c.pem")
	for fault, part := range map[string]string{
		"tls": "unknown authority", "tls-expired": "has expired", "tls-name": "is for another name",
	} {
		t.Run(fault, func(t *testing.T) {
			w := serve(t, fault, "-certout", cert)
			at := Endpoint{URL: w.url}
			if fault != "tls" {
				at.CAFile = cert
			}
			f := dialFails(t, at)
			wantFailure(t, f, failure.ConnectionRefused, failure.NotSent, part)
			if fault == "tls" {
				c := dial(t, Endpoint{URL: w.url, CAFile: cert}, Options{})
				echoes(t, c)
			}
		})
	}
	t.Run("plain HTTP", func(t *testing.T) {
		f := dialFails(t, Endpoint{URL: strings.Replace(serve(t, "").url, "http:", "https:", 1)})
		wantFailure(t, f, failure.ConnectionRefused, failure.NotSent, "does not speak TLS")
	})
	t.Run("CA file", func(t *testing.T) {
		empty := filepath.Join(t.TempDir(), "empty.pem")
		if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{empty, empty + ".none"} {
			f := dialFails(t, Endpoint{URL: "https://127.0.0.1:1/", CAFile: name})
			wantFailure(t, f, failure.InvalidArguments, failure.NotSent, name)
		}
	})
}

// A deadline is a deadline, however busy a stream is.
func TestStalledStreams(t *testing.T) {
	for _, fault := range []string{"sse-stall", "sse-trickle", "sse-stall,modern", "sse-trickle,modern"} {
		t.Run(fault, func(t *testing.T) {
			w := serve(t, fault)
			c := dial(t, Endpoint{URL: w.url}, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := c.CallTool(ctx, "echo", nil, RequestOptions{})
			wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)
			if err := c.Close(within(t)); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return w.count(t, "closed") > 0 }, "the stream was not closed")
			want := 1
			if strings.Contains(fault, "modern") {
				want = 0
			}
			if n := w.count(t, "notifications/cancelled"); n != want {
				t.Errorf("%d cancellations, want %d", n, want)
			}
		})
	}
}

// eventually waits for what no event tells, in another process.
func eventually(t *testing.T, ok func() bool, otherwise string) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
	}
}

func TestLargeAnswers(t *testing.T) {
	for _, fault := range []string{"json", "sse", "gzip"} {
		t.Run(fault, func(t *testing.T) {
			c := dial(t, Endpoint{URL: serve(t, fault).url}, Options{})
			if got := said(t, callTool(t, c, "c_big", `{"size":8388608}`)); len(got) != 8<<20 {
				t.Errorf("c_big says %d bytes", len(got))
			}
			raw, err := json.Marshal(map[string]int{"size": wire.MaxLine})
			if err != nil {
				t.Fatal(err)
			}
			f := callFails(t, c, "c_big", string(raw))
			wantFailure(t, f, failure.InvalidResult, failure.Answered, "67108864")
			echoes(t, c)
			if n := c.Stats().Oversized; n != 1 {
				t.Errorf("%d oversized, want 1", n)
			}
		})
	}
}

func TestSlowBody(t *testing.T) {
	c := dial(t, Endpoint{URL: serve(t, "slow-body", "-delay", "10s").url}, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.CallTool(ctx, "echo", json.RawMessage(`{"text":"x"}`), RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)
	if _, err := c.ListTools(within(t)); err != nil {
		t.Error(err)
	}
}
