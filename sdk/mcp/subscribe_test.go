package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// transports are the two ways to a faultserver.
var transports = map[string]func(t *testing.T, faults string, opt Options) (*Client, peer){
	"stdio": func(t *testing.T, faults string, opt Options) (*Client, peer) {
		p := faulty(t, "-fault", faults, "-n", "1")
		return connectTo(t, p, opt), p
	},
	"http": func(t *testing.T, faults string, opt Options) (*Client, peer) {
		w := serve(t, faults, "-n", "1")
		return dial(t, Endpoint{URL: w.url}, opt), w.peer
	},
}

func everyTransport(t *testing.T, test func(t *testing.T, connect func(t *testing.T, faults string, opt Options) (*Client, peer))) {
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) { test(t, connect) })
	}
}

// changes are the notifications that a test waits for.
type changes chan string

func (c changes) option() Options {
	return Options{OnNotification: func(method string, params json.RawMessage) { c <- method + " " + string(params) }}
}

func (c changes) next(t *testing.T) string {
	t.Helper()
	select {
	case n := <-c:
		return n
	case <-time.After(deadline):
		t.Fatal("no notification came")
		return ""
	}
}

func TestSubscription(t *testing.T) {
	everyTransport(t, func(t *testing.T, connect func(*testing.T, string, Options) (*Client, peer)) {
		got := make(changes, 16)
		c, p := connect(t, "modern", got.option())
		eventually(t, func() bool { return p.count(t, "subscriptions/listen") == 1 }, "nothing was subscribed to")
		callTool(t, c, "x_grow", "{}")
		if n := got.next(t); !strings.HasPrefix(n, `notifications/tools/list_changed {"_meta":{"io.modelcontextprotocol/subscriptionId":`) {
			t.Errorf("got %s", n)
		}
		c.session.mu.Lock()
		pending := len(c.session.pending)
		c.session.mu.Unlock()
		if pending != 0 {
			t.Errorf("%d requests are open", pending)
		}
		for _, e := range p.events(t) {
			if m, _ := text(member(e.Message, "method")); m == "subscriptions/listen" {
				if filter := string(member(member(e.Message, "params"), "notifications")); filter != `{"toolsListChanged":true}` {
					t.Errorf("subscribed to %s", filter)
				}
			}
		}
	})
}

// A subscription that ends, in whatever way, is asked for again, and what
// changed in between counts as changed.
func TestSubscriptionAgain(t *testing.T) {
	everyTransport(t, func(t *testing.T, connect func(*testing.T, string, Options) (*Client, peer)) {
		for _, fault := range []string{"listen-end", "listen-cancel", "listen-drop"} {
			if fault == "listen-drop" && strings.HasSuffix(t.Name(), "stdio") {
				continue
			}
			t.Run(fault, func(t *testing.T) {
				t.Parallel()
				got := make(changes, 16)
				c, p := connect(t, "modern,"+fault, got.option())
				if n := got.next(t); n != "notifications/tools/list_changed " {
					t.Errorf("got %s", n)
				}
				callTool(t, c, "x_grow", "{}")
				if n := got.next(t); !strings.Contains(n, "subscriptionId") {
					t.Errorf("got %s", n)
				}
				if n := p.count(t, "subscriptions/listen"); n != 2 {
					t.Errorf("subscribed %d times, want 2", n)
				}
			})
		}
	})
}

// A server without subscriptions is asked once, and an old one never.
func TestNoSubscription(t *testing.T) {
	everyTransport(t, func(t *testing.T, connect func(*testing.T, string, Options) (*Client, peer)) {
		for faults, want := range map[string]int{"modern,listen-none": 1, "modern,listen-nothing": 1, "": 0} {
			t.Run(faults, func(t *testing.T) {
				c, p := connect(t, faults, make(changes, 16).option())
				eventually(t, func() bool { return p.count(t, "subscriptions/listen") == want && !c.subscribed.Load() }, "the subscription did not end")
				echoes(t, c)
			})
		}
		t.Run("nobody wants to know", func(t *testing.T) {
			c, p := connect(t, "modern", Options{})
			echoes(t, c)
			if err := c.Close(within(t)); err != nil {
				t.Error(err)
			}
			if n := p.count(t, "subscriptions/listen"); n != 0 {
				t.Errorf("subscribed %d times", n)
			}
		})
	})
}

// An open subscription is nobody's pending call: an answer without an id still
// finds the only one.
func TestSubscriptionIsNoCall(t *testing.T) {
	c, p := transports["stdio"](t, "modern,errnoid", make(changes, 16).option())
	eventually(t, func() bool { return p.count(t, "subscriptions/listen") == 1 }, "nothing was subscribed to")
	wantFailure(t, callFails(t, c, "echo", "{}"), failure.ServerError, failure.Answered, "Parse error")
}

// unreachable is a link to a server that refuses every subscription.
type unreachable struct {
	link
	asked   []time.Time
	refusal func(n int) *failure.Failure
}

func (u *unreachable) do(_ context.Context, r request) (json.RawMessage, *failure.Failure) {
	u.asked = append(u.asked, time.Now())
	if len(u.asked) == 1 {
		r.acknowledged(json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
	}
	return nil, u.refusal(len(u.asked))
}

// A server that stays away is asked less and less often, and one that says when is
// asked then.
func TestSubscriptionBackoff(t *testing.T) {
	gone := func(int) *failure.Failure {
		return failure.New(failure.ConnectionRefused, failure.NotSent, "away")
	}
	for name, test := range map[string]struct {
		link unreachable
		want []time.Duration // pauses, +-20 %
	}{
		"away": {unreachable{refusal: gone}, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}},
		"busy": {unreachable{refusal: func(int) *failure.Failure {
			f := failure.New(failure.RateLimited, failure.Answered, "busy")
			f.RetryAfter = 30 * time.Second
			return f
		}}, []time.Duration{30, 30, 30}},
		"refused once it was known": {unreachable{refusal: func(int) *failure.Failure {
			return failure.New(failure.AuthFailure, failure.Answered, "expired")
		}}, []time.Duration{1, 2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(Options{}.withDefaults())
				c.session = newSession(nil, c.opt.Log, nil)
				c.link = &test.link
				c.work.Go(func() { c.listen([]byte(`"toolsListChanged":true`)) })
				time.Sleep(time.Hour)
				c.stop()
				c.work.Wait()
				for i, want := range test.want {
					if got := test.link.asked[i+1].Sub(test.link.asked[i]); got < want*time.Second*8/10 || got > want*time.Second*12/10 {
						t.Errorf("pause %d: %s, want about %d s", i, got, want)
					}
				}
			})
		})
	}
}

// late is a link to a server that goes away before it acknowledges a subscription,
// and acknowledges the next one.
type late struct {
	link
	asked int
}

func (l *late) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	if l.asked++; l.asked == 1 {
		return nil, failure.New(failure.ConnectionRefused, failure.NotSent, "away")
	}
	r.acknowledged(json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
	<-ctx.Done()
	return nil, failure.Classify(ctx.Err())
}

// A server that is another one by the time it acknowledges the first subscription may
// have other tools than those that were listed.
func TestFirstSubscriptionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(changes, 16)
		c := newClient(got.option().withDefaults())
		c.session = newSession(nil, c.opt.Log, c.opt.OnNotification)
		c.link = &late{}
		c.work.Go(func() { c.listen([]byte(`"toolsListChanged":true`)) })
		time.Sleep(time.Minute)
		c.stop()
		c.work.Wait()
		if n := len(got); n != 1 {
			t.Fatalf("%d notifications, want one", n)
		}
		if n := <-got; n != "notifications/tools/list_changed " {
			t.Errorf("got %s", n)
		}
	})
}

func TestFreshness(t *testing.T) {
	everyTransport(t, func(t *testing.T, connect func(*testing.T, string, Options) (*Client, peer)) {
		for faults, want := range map[string]ToolList{"modern": {TTL: time.Second, HasTTL: true, Scope: "private"}, "": {}} {
			c, _ := connect(t, faults, Options{})
			got, err := c.ReadTools(within(t))
			if err != nil || len(got.Tools) == 0 {
				t.Fatalf("%d tools, %v", len(got.Tools), err)
			}
			got.Tools = nil
			if got.TTL != want.TTL || got.HasTTL != want.HasTTL || got.Scope != want.Scope {
				t.Errorf("%q: %+v, want %+v", faults, got, want)
			}
		}
	})
	l := &toolList{names: map[string]bool{}}
	for _, page := range []string{`{"tools":[],"ttlMs":2000,"cacheScope":"public"}`, `{"tools":[],"ttlMs":500,"cacheScope":"private"}`, `{"tools":[],"ttlMs":-1}`, `{"tools":[],"ttlMs":9e300,"cacheScope":"public"}`} {
		if _, f := l.add(json.RawMessage(page)); f != nil {
			t.Fatal(f)
		}
	}
	if l.TTL != 500*time.Millisecond || l.Scope != "private" {
		t.Errorf("merged to %s, %s", l.TTL, l.Scope)
	}
}
