package call

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// witness is an Observer that writes down what it is told.
type witness struct{ seen []string }

type place struct{}

func (w *witness) note(ctx context.Context, format string, args ...any) context.Context {
	where, _ := ctx.Value(place{}).(string)
	w.seen = append(w.seen, where+fmt.Sprintf(format, args...))
	return context.WithValue(ctx, place{}, where+">")
}

func (w *witness) Begin(ctx context.Context, e *Event, meta json.RawMessage) context.Context {
	return w.note(ctx, "begin %s %s/%s %s", e.Method, e.Server, e.Tool, meta)
}

func (w *witness) Attempt(ctx context.Context, e *Event, n int, meta json.RawMessage) (context.Context, json.RawMessage) {
	return w.note(ctx, "attempt %d %s", n, meta), json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
}

func (w *witness) AttemptDone(ctx context.Context, isError bool, failed *Failure) {
	w.note(ctx, "done %v %v", isError, failed != nil)
}

func (w *witness) End(ctx context.Context, e *Event, failed *Failure) {
	w.note(ctx, "end %v %v", e.Known, failed != nil)
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		p := newPeer(func(_ context.Context, attempt int, req *server.Request) (*server.Answer, error) {
			sent = append(sent, string(req.Meta))
			if attempt == 1 {
				return nil, failing(failure.ConnectionRefused, failure.NotSent, 0)
			}
			return &server.Answer{JSON: []byte(`{}`), IsError: true}, nil
		})
		p.forward = func(_ context.Context, attempt int, q *server.Passage) ([]byte, error) {
			sent = append(sent, string(q.Params))
			if attempt == 3 {
				return nil, failing(failure.ConnectionRefused, failure.NotSent, 0)
			}
			return []byte(`{}`), nil
		}
		w := &witness{}
		pipe := pipeline(p, plain)
		pipe.Observer = w
		pipe.Server = func(string) (Server, error) { return p, nil }
		if _, err := pipe.Do(t.Context(), Request{Tool: "s/t", Meta: json.RawMessage(`{"a":1}`)}); err != nil {
			t.Fatal(err)
		}
		for _, params := range []string{`{"uri":"x" , "_meta":{"b":1.0}}`, ``, `{"_meta":"odd"}`} {
			if _, err := pipe.Forward(t.Context(), ForwardRequest{Server: "s", Method: "m", Params: json.RawMessage(params)}); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{
			`{"n":1}`, `{"n":2}`,
			`{"uri":"x" , "_meta":{"n":1}}`, `{"uri":"x" , "_meta":{"n":2}}`, `{"_meta":{"n":1}}`, `{"_meta":"odd"}`,
		}; !slices.Equal(sent, want) {
			t.Errorf("sent %q", sent)
		}
		if want := []string{
			`begin tools/call s/t {"a":1}`, `>attempt 1 {"a":1}`, `>>done false true`, `>attempt 2 {"a":1}`, `>>done true false`, `>end true false`,
			`begin m s/ {"b":1.0}`, `>attempt 1 {"b":1.0}`, `>>done false true`, `>attempt 2 {"b":1.0}`, `>>done false false`, `>end true false`,
			`begin m s/ `, `>attempt 1 `, `>>done false false`, `>end true false`,
			`begin m s/ `, `>attempt 1 `, `>>done false false`, `>end true false`,
		}; !slices.Equal(w.seen, want) {
			t.Errorf("seen %q", w.seen)
		}
	})
}

// What is told of a call says who made it, and what is known of its end.
func TestEvents(t *testing.T) {
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
		return answer(`{"content":[]}`), nil
	})
	p.forward = func(context.Context, int, *server.Passage) ([]byte, error) {
		return nil, failing(failure.Timeout, failure.DeliveryUnknown, 0)
	}
	pipe := pipeline(p, plain)
	pipe.Server = func(string) (Server, error) { return p, nil }
	var told []string
	tell := func(when string) func(Event) {
		return func(e Event) {
			if len(e.ID) != 16 {
				t.Errorf("id %q", e.ID)
			}
			e.ID, e.Duration = "", 0
			told = append(told, fmt.Sprintf("%s %+v", when, e))
		}
	}
	pipe.Started, pipe.Finished = tell("started"), tell("finished")
	_, _ = pipe.Do(t.Context(), Request{Tool: "s/t", Caller: exposure.Script, Owner: "token:x", Parent: "p", Session: "q"})
	_, _ = pipe.Forward(t.Context(), ForwardRequest{Server: "s", Method: "m", Params: json.RawMessage(`{}`), Caller: exposure.Model, Owner: "token:x", Parent: "p", Session: "q"})
	start := Event{Parent: "p", Method: ToolsCall, Server: "s", Tool: "t", Caller: exposure.Script, Owner: "token:x", Session: "q", Arguments: json.RawMessage(`{}`)}
	end := start
	end.Known, end.Attempts, end.ResultBytes = true, 1, len(`{"content":[]}`)
	forward := start
	forward.Method, forward.Tool, forward.Caller = "m", "", exposure.Model
	late := forward
	late.Known, late.Attempts, late.Class, late.Delivery = true, 1, "timeout", "unknown"
	want := []string{fmt.Sprintf("started %+v", start), fmt.Sprintf("finished %+v", end), fmt.Sprintf("started %+v", forward), fmt.Sprintf("finished %+v", late)}
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}
