// Package player answers as a recording says. It reads no file and knows no settings.
package player

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/recording"
)

// Player is one server of a recording, as an adapter.
type Player struct {
	server   string
	rec      *recording.Recording
	tape     *recording.Tape
	snapshot recording.Entry
}

// New plays one server of a recording, in the order of its calls or by their arguments.
func New(rec *recording.Recording, server string, order bool) *Player {
	p := &Player{server: server, rec: rec, tape: rec.Tape(server, order)}
	if s := rec.Snapshot(server); s != nil {
		p.snapshot = *s
	}
	return p
}

// Tools implements adapter.Server.
func (p *Player) Tools(context.Context) ([]adapter.Tool, error) {
	var tools []adapter.Tool
	for _, t := range p.rec.Tools(p.server) {
		tools = append(tools, adapter.Tool{
			Name: t.Name, Definition: json.RawMessage(t.Definition), ReadOnly: t.ReadOnly, Idempotent: t.Idempotent,
			AsksConsent: t.AsksConsent, OutputSchema: json.RawMessage(t.OutputSchema),
		})
	}
	return tools, nil
}

// Call implements adapter.Server.
func (p *Player) Call(ctx context.Context, call *adapter.Call) (*adapter.Result, error) {
	e, err := p.tape.Call(call.Tool, call.Args, call.InputResponses, call.RequestState)
	if err != nil {
		return nil, err
	}
	for answered := e; answered != nil; answered = p.answered(e, call) {
		if e, err = p.play(ctx, answered, call); err != nil {
			return nil, err
		}
	}
	switch {
	case e.Failure != nil:
		return nil, failed(e)
	case e.Input != nil:
		return &adapter.Result{Input: &adapter.InputRequired{Requests: json.RawMessage(e.Input.Requests), State: e.Input.State}}, nil
	}
	return &adapter.Result{JSON: json.RawMessage(e.Result), IsError: e.IsError}, nil
}

// Methods implements adapter.Forwarder.
func (p *Player) Methods() []string { return p.snapshot.ForwardMethods }

// Forward implements adapter.Forwarder.
func (p *Player) Forward(ctx context.Context, req *adapter.Request) (json.RawMessage, error) {
	e, err := p.tape.Forward(req.Method, req.Params)
	if err != nil {
		return nil, err
	}
	if e, err = p.play(ctx, e, req); err != nil {
		return nil, err
	}
	if e.Failure != nil {
		return nil, failed(e)
	}
	return json.RawMessage(e.Result), nil
}

// Watch implements adapter.Watcher: what the upstream said of itself.
func (p *Player) Watch(ctx context.Context, ev *adapter.Events) error {
	if len(p.snapshot.ServerInfo) > 0 {
		ev.ServerInfo(json.RawMessage(p.snapshot.ServerInfo))
	}
	ev.Health(adapter.Ready, nil)
	<-ctx.Done()
	return nil
}

// failed is a recorded failure. One of a call that its own caller gave up is told as a
// timeout would be: nobody gave up this one.
func failed(e *recording.Entry) error {
	f := e.Failure.Failure()
	if f.Class == failure.Canceled {
		f.Class = failure.Timeout
	}
	return f
}

// listener is whoever made the call.
type listener interface {
	Progress(done, total float64, message string)
	Log(level slog.Level, logger string, data json.RawMessage)
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// play sends what came before the end, without its pauses, and asks what was asked. It
// returns the entry whose end fits the answers.
func (p *Player) play(ctx context.Context, e *recording.Entry, to listener) (*recording.Entry, error) {
	sent := 0
	until := func(n int) {
		for ; sent < min(n, len(e.Events)); sent++ {
			send(&e.Events[sent], to)
		}
	}
	for n := 0; n < len(e.Asks); n++ {
		until(e.Asks[n].After)
		fits, err := p.ask(ctx, e, n, to)
		if err != nil {
			return nil, err
		}
		if fits != e {
			e, sent = fits, max(fits.Asks[n].After, 0)
		}
	}
	until(len(e.Events))
	return e, nil
}

// ask asks a question again, and returns the entry that goes on as it was answered.
// Where nobody can be asked the recorded answer counts.
func (p *Player) ask(ctx context.Context, e *recording.Entry, n int, to listener) (*recording.Entry, error) {
	a := &e.Asks[n]
	switch {
	case len(a.Result) == 0 && a.Failure == nil:
		return e, nil // the call ended before the answer
	case a.Failure != nil && nobody(a.Failure.Failure()):
		return e, nil // nor could anybody be asked then
	}
	result, err := to.Ask(ctx, a.Method, json.RawMessage(a.Params))
	if f, ok := errors.AsType[*failure.Failure](err); ok && nobody(f) && ctx.Err() == nil {
		return e, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if a.Answers(result, err) {
		return e, nil
	}
	if other := p.tape.Otherwise(e, n, result, err); other != nil {
		return other, nil
	}
	f := failure.New(failure.NotFound, failure.NotSent, "the question %s was answered otherwise than in the recording, which has no end for that; the recorded answer is %s", a.Method, recorded(a))
	f.Origin = failure.OriginAdapter
	return nil, f
}

// answered is what was recorded next of a call that ended in questions, where the caller
// of then said that it can be asked those and the one of now does not: the recorded
// answer counts. It is nil where the caller is to answer, or nothing was asked.
func (p *Player) answered(e *recording.Entry, call *adapter.Call) *recording.Entry {
	if e.Input == nil || e.Failure != nil || !takes(e.Meta, e.Input.Requests) || takes(call.Meta, e.Input.Requests) {
		return nil
	}
	return p.tape.Answered(e)
}

// takes reports whether the _meta of a call says that its caller can be asked all of some
// inputRequests (2026-07-28, MRTR).
func takes(meta, requests []byte) bool {
	can := gjson.GetBytes(meta, `io\.modelcontextprotocol/clientCapabilities`)
	all := true
	gjson.ParseBytes(requests).ForEach(func(_, question gjson.Result) bool {
		kind, _, _ := strings.Cut(question.Get("method").String(), "/")
		all = can.Get(gjson.Escape(kind)).Exists() && (question.Get("params.mode").String() != "url" || can.Get("elicitation.url").Exists())
		return all
	})
	return all
}

// nobody reports whether a failure says that there was nobody to ask, or no more.
func nobody(f *failure.Failure) bool {
	return f.Class == failure.Canceled || f.Class == failure.ConsentRequired && f.UpstreamCode == 0
}

// recorded is a recorded answer for a sentence.
func recorded(a *recording.Ask) string {
	const most = 200
	if a.Failure != nil {
		return "the failure " + a.Failure.Class
	}
	return strings.ToValidUTF8(string(a.Result[:min(len(a.Result), most)]), "")
}

func send(e *recording.Event, to listener) {
	if e.Level == "" {
		to.Progress(e.Done, e.Total, e.Message)
		return
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(e.Level)); err != nil {
		level = slog.LevelInfo
	}
	to.Log(level, e.Logger, json.RawMessage(e.Data))
}
