package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
)

// Requests of the server reach the caller, and its answer the server as written.
func TestRequestsAreAnswered(t *testing.T) {
	refusal := failure.New(failure.ServerError, failure.Answered, "not <now>")
	refusal.UpstreamCode, refusal.UpstreamData = -1, json.RawMessage(`{"a":1.0}`)
	opt := Options{
		Capabilities: json.RawMessage("{\n\"sampling\":{}, \"roots\":{\"n\":1.0}}"),
		OnRequest: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if string(params) != "{}" {
				t.Errorf("params of %s are %s", method, params)
			}
			switch method {
			case "roots/list":
				return json.RawMessage("{\n\"roots\":[], \"n\":1.0}"), nil
			case "sampling/createMessage":
				return nil, refusal
			case "elicitation/create":
				return nil, errors.New("secret")
			}
			return json.RawMessage(`[]`), nil
		},
	}
	p := faulty(t)
	c := connectTo(t, p, opt)
	for tool, want := range map[string]string{
		"a_ping":     `client result: {}`,
		"a_roots":    `client result: { "roots":[], "n":1.0}`,
		"a_sampling": `client error: {"code":-1,"message":"not <now>","data":{"a":1.0}}`,
		"a_elicit":   `client error: {"code":-32603,"message":"Internal error"}`,
		"a_unknown":  `client error: {"code":-32603,"message":"Internal error"}`,
	} {
		if got := said(t, callTool(t, c, tool, "{}")); got != want {
			t.Errorf("%s: the server got %s, want %s", tool, got, want)
		}
	}
	if got := c.Stats().RefusedRequest; got != 0 {
		t.Errorf("RefusedRequest = %d", got)
	}
	for _, e := range p.events(t) {
		if m, _ := text(member(e.Message, "method")); m == "initialize" {
			if got := string(member(member(e.Message, "params"), "capabilities")); got != `{ "sampling":{}, "roots":{"n":1.0}}` {
				t.Errorf("initialize declares %s", got)
			}
		}
	}
}

func TestCapabilitiesAreDeclaredToModernServers(t *testing.T) {
	c := connectTo(t, faulty(t, "-fault", "modern"), Options{Capabilities: json.RawMessage(`{"elicitation":{}}`)})
	sent := said(t, callTool(t, c, "raw", "{}"))
	if got := string(member(member(member([]byte(sent), "params"), "_meta"), metaPrefix+"clientCapabilities")); got != `{"elicitation":{}}` {
		t.Errorf("the call declares %s", got)
	}
	_, err := Start(t.Context(), faulty(t).cmd, Options{Capabilities: json.RawMessage(`[]`)})
	wantFailure(t, asFailure(t, err), failure.InvalidArguments, failure.NotSent, "capabilities")
}

// An open request of the server ends with the connection, and Close waits for it.
func TestCloseEndsAnswers(t *testing.T) {
	asked := make(chan struct{})
	var ended atomic.Bool
	c := connectTo(t, faulty(t), Options{OnRequest: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		close(asked)
		<-ctx.Done()
		ended.Store(true)
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	called := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "a_roots", nil, RequestOptions{})
		called <- err
	}()
	<-asked
	if err := c.Close(within(t)); err != nil {
		t.Error(err)
	}
	if !ended.Load() {
		t.Error("Close did not wait for the answer")
	}
	wantFailure(t, asFailure(t, <-called), failure.ConnectionRefused, failure.DeliveryUnknown, "closed")
}

// sent is a transport that keeps what it is given.
type sent struct{ messages chan string }

func (s sent) enqueue(o *outgoing) error { s.messages <- string(o.message); return nil }
func (s sent) withdraw(*outgoing) bool   { return false }

func (s sent) next(t *testing.T) string {
	t.Helper()
	select {
	case m := <-s.messages:
		return m
	case <-within(t).Done():
		t.Fatal("nothing was sent")
	}
	return ""
}

// One that asks without end gets refusals and no more goroutines; an id in use
// is refused; a request it cancels gets no answer.
func TestAnswersAreBounded(t *testing.T) {
	out := sent{make(chan string, 2*maxAnswering)}
	s := newSession(out, slog.New(slog.DiscardHandler), nil)
	began := make(chan context.Context, 2*maxAnswering)
	release := make(chan struct{})
	s.answerWith(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		began <- ctx
		select {
		case <-release:
		case <-ctx.Done():
		}
		return json.RawMessage("{}"), nil
	})
	receive := func(m string) {
		t.Helper()
		e, _, err := scanEnvelope([]byte(m), 0)
		if err != nil {
			t.Fatal(err)
		}
		s.message(e)
	}
	ask := func(id string) { receive(`{"jsonrpc":"2.0","id":` + id + `,"method":"roots/list"}`) }

	ask(`"a"`)
	first := <-began
	ask(`"a"`)
	if got := out.next(t); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,`) {
		t.Errorf("id in use: %s", got)
	}
	for i := range maxAnswering {
		ask(fmt.Sprint(i))
	}
	if got := out.next(t); !strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,`, maxAnswering-1)) {
		t.Errorf("too many: %s", got)
	}
	receive(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
	<-first.Done()
	close(release)
	for range maxAnswering - 1 {
		if got := out.next(t); strings.Contains(got, `"a"`) || !strings.HasSuffix(got, `"result":{}}`+"\n") {
			t.Errorf("answer %s", got)
		}
	}
	s.answers.drain()
	s.answers.running.Wait()
	s.end(failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "over"))
	ask("99")
	s.answers.running.Wait()
	if n := len(out.messages); n != 0 {
		t.Errorf("%d more messages, the first %s", n, <-out.messages)
	}
}
