package mcpadapter

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

const listChanged = "notifications/tools/list_changed"

// settle lets a second pass, more than a change takes to be announced.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// A burst of announcements costs one listing, and only a list that differs is news.
func TestToolsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		tools := []json.RawMessage{json.RawMessage(`{"name":"a","x":1.0}`)}
		up := newFake()
		up.tools = func(context.Context) ([]json.RawMessage, error) { lists++; return tools, nil }
		s, host := open(t, func(context.Context, int) (Upstream, error) { return up, nil })

		s.notified(listChanged, nil)
		settle()
		if lists != 0 {
			t.Errorf("%d listings before anybody wanted one", lists)
		}
		got, err := s.Tools(t.Context())
		if err != nil || len(got) != 1 || got[0].Name != "a" || string(got[0].Definition) != `{"name":"a","x":1.0}` {
			t.Fatalf("tools %+v, %v", got, err)
		}
		for range 100 {
			s.notified(listChanged, nil)
		}
		settle()
		if lists != 2 || len(host.changes) != 0 {
			t.Errorf("%d listings and changes %q after a false alarm, want 2 and none", lists, host.changes)
		}
		tools = append(tools, json.RawMessage(`{"name":"b"}`))
		for range 100 {
			s.notified(listChanged, nil)
			time.Sleep(time.Millisecond)
		}
		settle()
		if lists > 4 || len(host.changes) != 1 || host.changes[0] == "" {
			t.Errorf("%d listings and changes %q, want one change", lists, host.changes)
		}
	})
}

// A server that was started again may offer other tools, and says nothing of it.
func TestToolsChangedByARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ups := []*fake{newFake(), newFake()}
		for i, name := range []string{"old", "new"} {
			ups[i].tools = func(context.Context) ([]json.RawMessage, error) {
				return []json.RawMessage{json.RawMessage(`{"name":"` + name + `"}`)}, nil
			}
		}
		s, host := open(t, func(_ context.Context, n int) (Upstream, error) { return ups[n], nil })
		if _, err := s.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
		ups[0].die(exited)
		synctest.Wait()
		if _, err := s.Call(t.Context(), &adapter.Call{Tool: "x"}); err != nil {
			t.Fatal(err)
		}
		settle()
		if len(host.changes) != 1 {
			t.Errorf("changes %q, want one", host.changes)
		}
	})
}

// An upstream that lives on while it cannot be reached is degraded until it
// answers, be it with an error; its tools may be others then.
func TestDegradedUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Pointer[failure.Failure]
		var renamed atomic.Bool
		up := newFake()
		up.tools = func(context.Context) ([]json.RawMessage, error) {
			name := "a"
			if renamed.Load() {
				name = "b"
			}
			return []json.RawMessage{json.RawMessage(`{"name":"` + name + `"}`)}, nil
		}
		up.call = func(context.Context, string, json.RawMessage, mcp.RequestOptions) (json.RawMessage, error) {
			return nil, fails.Load()
		}
		s, host := openAs(t, true, func(context.Context, int) (Upstream, error) { return up, nil })
		call := func() { _, _ = s.Call(t.Context(), &adapter.Call{Tool: "x"}) }
		if _, err := s.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
		states := []adapter.State{adapter.Connecting, adapter.Ready}
		fails.Store(failure.New(failure.Timeout, failure.DeliveryUnknown, "no answer"))
		call() // says nothing of the server
		host.wantStates(t, states...)

		for _, away := range []failure.Class{failure.ConnectionRefused, failure.DNSFailure} {
			fails.Store(failure.New(away, failure.NotSent, "away"))
			call()
			call()
			states = append(states, adapter.Degraded)
			host.wantStates(t, states...)
			if host.why == nil || host.why.Message != "away" {
				t.Errorf("degraded because of %v", host.why)
			}
			fails.Store(failure.New(failure.Timeout, failure.DeliveryUnknown, "no answer"))
			call()
			host.wantStates(t, states...)

			fails.Store(failure.New(failure.ServerError, failure.Answered, "no"))
			call()
			states = append(states, adapter.Ready)
			host.wantStates(t, states...)
		}
		renamed.Store(true)
		settle()
		if len(host.changes) != 1 {
			t.Errorf("changes %q after it was back with other tools, want one", host.changes)
		}
	})
}

// A list that outlived the upstream's word is read again when the server is used,
// and not before.
func TestListIsReadAgainWhenStale(t *testing.T) {
	for _, test := range []struct {
		name   string
		ttl    time.Duration
		hasTTL bool
		fresh  time.Duration // what it comes to
	}{
		{"five minutes", 5 * time.Minute, true, 5 * time.Minute},
		{"no time at all", 0, true, leastTTL},
		{"for ever", 0, false, 1000 * time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lists := 0
				up := newFake()
				up.ttl, up.hasTTL = test.ttl, test.hasTTL
				up.tools = func(context.Context) ([]json.RawMessage, error) {
					lists++
					return []json.RawMessage{json.RawMessage(`{"name":"a","n":` + strconv.Itoa(lists/3) + `}`)}, nil
				}
				s, host := open(t, func(context.Context, int) (Upstream, error) { return up, nil })
				use := func(wantLists, wantChanges int) {
					t.Helper()
					for range 10 {
						if _, err := s.Call(t.Context(), &adapter.Call{Tool: "a"}); err != nil {
							t.Fatal(err)
						}
					}
					settle()
					if lists != wantLists || len(host.changes) != wantChanges {
						t.Errorf("%d lists and changes %q, want %d and %d", lists, host.changes, wantLists, wantChanges)
					}
				}
				use(0, 0)
				if _, err := s.Tools(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(test.fresh - 2*time.Second)
				use(1, 0)
				if !test.hasTTL {
					return
				}
				time.Sleep(10 * test.fresh)
				if lists != 1 {
					t.Errorf("%d lists of a server that nobody uses, want 1", lists)
				}
				use(2, 0)
				use(2, 0)
				time.Sleep(test.fresh)
				use(3, 1)
			})
		})
	}
}

// Servers need not declare tools to have some, nor know tools/list to have none.
func TestServerWithoutTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unknown := failure.New(failure.ServerError, failure.Answered, "Method not found")
		unknown.UpstreamCode = -32601
		up := newFake()
		up.tools = func(context.Context) ([]json.RawMessage, error) { return nil, unknown }
		s, _ := open(t, func(context.Context, int) (Upstream, error) { return up, nil })
		synctest.Wait()
		if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 0 {
			t.Errorf("tools %v, %v", tools, err)
		}
		up.info.Capabilities = json.RawMessage(`{"tools":{}}`)
		_, err := s.Tools(t.Context())
		wantFailure(t, err, failure.ServerError, failure.Answered)
	})
}

func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := newFake()
		up.info = mcp.ServerInfo{
			ProtocolVersion: "2025-11-25", Info: json.RawMessage(`{"name":"n","version":"1"}`),
			Capabilities: json.RawMessage(`{"prompts":{},"x":1.0}`), Instructions: "<b>",
		}
		up.other = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(method + string(params)), nil
		}
		s, host := open(t, func(context.Context, int) (Upstream, error) { return up, nil })
		synctest.Wait()
		if want := []string{"prompts/list", "prompts/get"}; !slices.Equal(host.methods, want) || !slices.Equal(s.Methods(), want) {
			t.Errorf("methods %v and %v, want %v", host.methods, s.Methods(), want)
		}
		if want := `{"protocolVersion":"2025-11-25","serverInfo":{"name":"n","version":"1"},"capabilities":{"prompts":{},"x":1.0},"instructions":"<b>"}`; string(host.info) != want {
			t.Errorf("info %s", host.info)
		}
		got, err := s.Forward(t.Context(), &adapter.Request{Method: "prompts/get", Params: json.RawMessage(`{"name":"p"}`)})
		if err != nil || string(got) != `prompts/get{"name":"p"}` {
			t.Errorf("forwarded %s, %v", got, err)
		}
		_, err = s.Forward(t.Context(), &adapter.Request{Method: "resources/read"})
		wantFailure(t, err, failure.NotFound, failure.NotSent)

		s.notified("notifications/resources/updated", json.RawMessage(`{"uri":"u"}`))
		s.notified("notifications/prompts/list_changed", nil)
		s.notified("notifications/elsewhere", nil)
		if want := []string{`notifications/resources/updated{"uri":"u"}`, "notifications/prompts/list_changed"}; !slices.Equal(host.forwarded, want) {
			t.Errorf("forwarded %q, want %q", host.forwarded, want)
		}
	})
}

func TestForwardable(t *testing.T) {
	for _, test := range []struct {
		capabilities string
		want         []string
	}{
		{``, nil},
		{`{}`, nil},
		{`{"tools":{},"logging":{}}`, nil},
		{`{"resources":null,"prompts":false}`, nil},
		{`{"resources":{}}`, []string{"resources/list", "resources/templates/list", "resources/read"}},
		{`{"resources":{"subscribe":false}}`, []string{"resources/list", "resources/templates/list", "resources/read"}},
		{`{"completions":{},"resources":{"subscribe":true}}`, []string{
			"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"}},
	} {
		if got := forwardable(json.RawMessage(test.capabilities)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.capabilities, got, test.want)
		}
	}
}

// Log messages are asked for: by the client, which alone knows of sessions.
func TestLogsAreAskedFor(t *testing.T) {
	asked := make(chan string, 1)
	s := New(&adapter.Env{Log: slog.New(slog.DiscardHandler)}, Options{Connect: func(_ context.Context, _ *adapter.Env, opt mcp.Options) (Upstream, error) {
		asked <- opt.LogLevel
		return newFake(), nil
	}})
	if got := <-asked; got != "info" {
		t.Errorf("level %q", got)
	}
	if err := s.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
}

// What was subscribed to at one upstream is at the next one, and counts as changed.
func TestSubscriptionsOutliveTheUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		upstream := func() *fake {
			up := newFake()
			up.info.Capabilities = json.RawMessage(`{"resources":{"subscribe":true}}`)
			up.other = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				asked = append(asked, method+string(params))
				if strings.Contains(string(params), "refused") {
					return nil, failure.New(failure.NotFound, failure.Answered, "no such resource")
				}
				return json.RawMessage(`{}`), nil
			}
			return up
		}
		first, second := upstream(), upstream()
		s, r := openAs(t, true, func(_ context.Context, n int) (Upstream, error) { return []Upstream{first, second}[n], nil })
		for _, q := range []string{"subscribe a<b", "subscribe c", "unsubscribe c", "subscribe a<b", "subscribe refused"} {
			what, uri, _ := strings.Cut(q, " ")
			_, _ = s.Forward(t.Context(), &adapter.Request{Method: "resources/" + what, Params: json.RawMessage(`{"uri":"` + uri + `"}`)})
		}
		first.die(failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "gone"))
		synctest.Wait()
		asked = nil
		if _, err := s.Call(t.Context(), &adapter.Call{Tool: "x"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(asked) != 1 || asked[0] != `resources/subscribe{"uri":"a<b"}` {
			t.Errorf("the second upstream was asked %q", asked)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.forwarded) != 1 || r.forwarded[0] != `notifications/resources/updated{"uri":"a<b"}` {
			t.Errorf("the host was told %q", r.forwarded)
		}
	})
}
