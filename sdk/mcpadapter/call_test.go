package mcpadapter

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

func TestResult(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		modern    bool
		isError   bool
		input     *adapter.InputRequired
		refused   bool
	}{
		{name: "success", raw: `{"content":[]}`},
		{name: "error", raw: `{"content":[],"isError":true}`, isError: true},
		{name: "error first, spaced", raw: "{ \"isError\" :\n true , \"content\":[]}", isError: true},
		{name: "false", raw: `{"isError":false}`},
		{name: "a string", raw: `{"isError":"true"}`},
		{name: "a number", raw: `{"isError":1}`},
		{name: "null", raw: `{"isError":null}`},
		{name: "another case", raw: `{"iserror":true,"IsError":true,"ISERROR":true}`},
		{name: "inside", raw: `{"structuredContent":{"isError":true},"content":[{"isError":true}]}`},
		{name: "inside a string", raw: `{"a":"\"isError\":true"}`},
		{name: "escaped name", raw: `{"is\u0045rror":true}`, isError: true},
		{name: "the last of two", raw: `{"isError":true,"isError":false}`},
		{name: "the last of two, the other way", raw: `{"isError":false,"isError":true}`, isError: true},
		{
			name: "input", modern: true, raw: `{"resultType":"input_required","inputRequests":{"q": {"n":9007199254740993}},"requestState":"s\u00e9"}`,
			input: &adapter.InputRequired{Requests: json.RawMessage(`{"q": {"n":9007199254740993}}`), State: "sé"},
		},
		{name: "input without requests", modern: true, raw: `{"resultType":"input_required","requestState":"s"}`, input: &adapter.InputRequired{State: "s"}},
		{name: "input of an older era is a plain member", raw: `{"resultType":"input_required"}`},
		{name: "complete", modern: true, raw: `{"resultType":"complete","isError":true}`, isError: true},
		{name: "odd requests", modern: true, raw: `{"resultType":"input_required","inputRequests":[]}`, refused: true},
		{name: "odd state", modern: true, raw: `{"resultType":"input_required","requestState":1}`, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := result(json.RawMessage(test.raw), test.modern)
			if test.refused {
				wantFailure(t, err, failure.InvalidResult, failure.Answered)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.input != nil {
				if got.Input == nil || string(got.Input.Requests) != string(test.input.Requests) || got.Input.State != test.input.State || got.JSON != nil {
					t.Errorf("input %+v, want %+v", got.Input, test.input)
				}
				return
			}
			if got.IsError != test.isError || string(got.JSON) != test.raw || got.Input != nil {
				t.Errorf("isError %v and %s, want %v and the same bytes", got.IsError, got.JSON, test.isError)
			}
		})
	}
}

// What goes to the upstream is what the caller wrote.
func TestCallPassesBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent, meta string
		up := newFake()
		up.call = func(_ context.Context, tool string, args json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error) {
			sent, meta = tool+string(args), string(opt.Meta)
			return json.RawMessage(`{"b":1.0,"a":9007199254740993}`), nil
		}
		up.other = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			sent = method + string(params)
			return json.RawMessage(`{}`), nil
		}
		s, _ := open(t, func(context.Context, int) (Upstream, error) { return up, nil })

		res, err := s.Call(t.Context(), &adapter.Call{Tool: "x", Args: json.RawMessage(`{"z":1.0, "a":"<&>"}`), Meta: json.RawMessage(`{"traceparent":"t"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if sent != `x{"z":1.0, "a":"<&>"}` || meta != `{"traceparent":"t"}` {
			t.Errorf("sent %s with meta %s", sent, meta)
		}
		if string(res.JSON) != `{"b":1.0,"a":9007199254740993}` {
			t.Errorf("result %s", res.JSON)
		}

		_, err = s.Call(t.Context(), &adapter.Call{
			Tool: "a<b", Args: json.RawMessage(`{"n":1.0}`), InputResponses: json.RawMessage(`{"q":{"ok":true}}`), RequestState: `s"1`,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := `tools/call{"name":"a<b","arguments":{"n":1.0},"inputResponses":{"q":{"ok":true}},"requestState":"s\"1"}`
		if sent != want {
			t.Errorf("sent %s\nwant %s", sent, want)
		}
	})
}

// callRecord is a caller and what reached it.
type callRecord struct {
	got    []string
	answer json.RawMessage
	err    error
}

func (c *callRecord) Log(level slog.Level, logger string, data json.RawMessage) {
	c.got = append(c.got, level.String()+" "+logger+" "+string(data))
}

func (c *callRecord) Ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	c.got = append(c.got, method+string(params))
	return c.answer, c.err
}

// A log notification does not name its call, so it goes to a caller only when
// it cannot be another's.
func TestLogGoesToTheOnlyCall(t *testing.T) {
	s := &server{env: testEnv()}
	log := func(level string) {
		s.notified("notifications/message", json.RawMessage(`{"level":"`+level+`","logger":"l","data":{"n":1.0}}`))
	}
	a, b := &callRecord{}, &callRecord{}
	log("info") // to nobody
	_, leave := s.running.enter(t.Context(), a)
	log("warning")
	_, leaveB := s.running.enter(t.Context(), b)
	log("info") // whose?
	leaveB()
	log("critical")
	log("made-up")
	leave()
	log("info")
	want := []string{`WARN l {"n":1.0}`, `ERROR l {"n":1.0}`, `INFO l {"n":1.0}`}
	if len(a.got) != 3 || a.got[0] != want[0] || a.got[1] != want[1] || a.got[2] != want[2] || b.got != nil {
		t.Errorf("the calls got %q and %q, want %q and nothing", a.got, b.got, want)
	}
}
