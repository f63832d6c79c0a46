package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

func TestDeclaring(t *testing.T) {
	const none = `"io.modelcontextprotocol/clientCapabilities":{}`
	const own = `{"a":1.0,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	for _, test := range []struct {
		name, meta, params, want string
		legacy                   bool
	}{
		{name: "a caller that says nothing", want: `{` + none + `}`},
		{name: "of itself", meta: ` { "a": 1.0 }`, want: `{` + none + `,"a": 1.0 }`},
		{name: "or hardly anything", meta: "{ }", want: `{` + none + `}`},
		{name: "a caller that can be asked", meta: own, want: own},
		{name: "and says so in its params", params: `{"_meta":` + own + `}`},
		{name: "params that say nothing", params: `{"uri":"x","_meta":{"a":1}}`, want: `{` + none + `}`},
		{name: "no object", meta: `[]`, want: `[]`},
		{name: "another era", legacy: true, meta: `{"a":1}`, want: `{"a":1}`},
		{name: "another era, nothing", legacy: true},
	} {
		up := newFake()
		up.info.Modern = !test.legacy
		got := declaring(up, orNil(json.RawMessage(test.meta)), orNil(json.RawMessage(test.params)))
		if string(got) != test.want || (got == nil) != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// What a server declares to be able to ask follows from the host.
func TestCapabilitiesFollowTheHost(t *testing.T) {
	s := &server{env: testEnv()}
	if opt := s.listens(mcp.Options{}); opt.Capabilities != nil || opt.OnRequest != nil {
		t.Errorf("without a host that can ask: %s", opt.Capabilities)
	}
	s.env.HostFeatures = []string{"token", "ask"}
	if opt := s.listens(mcp.Options{}); string(opt.Capabilities) != `{"elicitation":{},"roots":{},"sampling":{}}` || opt.OnRequest == nil {
		t.Errorf("with one: %s", opt.Capabilities)
	}
}

func TestQuestions(t *testing.T) {
	refused := failure.New(failure.Unknown, failure.Answered, "no thanks")
	refused.UpstreamCode = -1
	nobody := failure.New(failure.ConsentRequired, failure.NotSent, "nobody")
	for _, test := range []struct {
		name, method, want string
		who                *callRecord
		code               int
	}{
		{name: "answered", method: elicit, who: &callRecord{answer: json.RawMessage(`{"action": "accept"}`)}, want: `{"action": "accept"}`},
		{name: "refused by the client", method: sample, who: &callRecord{err: refused}, code: -1},
		{name: "elicitation of nobody", method: elicit, who: &callRecord{err: nobody}, want: `{"action":"cancel"}`},
		{name: "roots of nobody", method: roots, who: &callRecord{err: nobody}, want: `{"roots":[]}`},
		{name: "sampling of nobody", method: sample, who: &callRecord{err: nobody}, code: -32601},
		{name: "an error", method: elicit, who: &callRecord{err: errors.New("host broke")}, want: `{"action":"cancel"}`},
		{name: "outside of any call", method: elicit, want: `{"action":"cancel"}`},
		{name: "roots outside of any call", method: roots, want: `{"roots":[]}`},
		{name: "what is not passed on", method: "tasks/get", who: &callRecord{answer: json.RawMessage(`{}`)}, code: -32601},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{env: testEnv()}
			if test.who != nil {
				_, leave := s.running.enter(t.Context(), test.who)
				defer leave()
			}
			raw, err := s.asked(t.Context(), test.method, json.RawMessage(`{"n":1.0}`))
			if test.code != 0 {
				if f, ok := errors.AsType[*failure.Failure](err); !ok || f.UpstreamCode != test.code {
					t.Errorf("%s %v, want the error %d", raw, err, test.code)
				}
			} else if err != nil || string(raw) != test.want {
				t.Errorf("%s %v, want %s", raw, err, test.want)
			}
			asked := test.who != nil && test.method != "tasks/get"
			if test.who != nil && (len(test.who.got) == 1) != asked {
				t.Errorf("asked %q", test.who.got)
			}
			if asked && test.who.got[0] != test.method+`{"n":1.0}` {
				t.Errorf("asked %q", test.who.got)
			}
		})
	}
}

// A question whose call nobody knows reaches nobody, where one that came with a
// call's own stream reaches that one.
func TestQuestionsDuringSeveralCalls(t *testing.T) {
	s := &server{env: testEnv()}
	a, b := &callRecord{answer: json.RawMessage(`{}`)}, &callRecord{answer: json.RawMessage(`{"b":1}`)}
	_, leave := s.running.enter(t.Context(), a)
	defer leave()
	r, leave := s.running.enter(t.Context(), b)
	defer leave()
	if raw, err := s.asked(t.Context(), elicit, nil); err != nil || string(raw) != `{"action":"cancel"}` || a.got != nil || b.got != nil {
		t.Errorf("%s %v, asked %q and %q", raw, err, a.got, b.got)
	}
	if raw, err := r.asked(t.Context(), elicit, nil); err != nil || string(raw) != `{"b":1}` || a.got != nil || len(b.got) != 1 {
		t.Errorf("%s %v, asked %q and %q", raw, err, a.got, b.got)
	}
}

// The end of a call is the end of what was asked for it.
func TestQuestionEndsWithItsCall(t *testing.T) {
	call, end := context.WithCancel(t.Context())
	r := &running{ctx: call, who: &patientCaller{end}}
	if raw, err := r.asked(t.Context(), elicit, nil); err != nil || string(raw) != `{"action":"cancel"}` {
		t.Errorf("%s %v", raw, err)
	}
}

// patientCaller gives its call up when it is asked, and answers when it has to.
type patientCaller struct{ giveUp func() }

func (p *patientCaller) Log(level slog.Level, logger string, data json.RawMessage) {}

func (p *patientCaller) Ask(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
	p.giveUp()
	<-ctx.Done()
	return nil, ctx.Err()
}
