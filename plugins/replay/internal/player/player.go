// Package player answers as a recording says. It reads no file and knows no settings.
package player

import (
	"context"
	"encoding/json"
	"log/slog"

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
func (p *Player) Call(_ context.Context, call *adapter.Call) (*adapter.Result, error) {
	e, err := p.tape.Call(call.Tool, call.Args, call.RequestState)
	if err != nil {
		return nil, err
	}
	play(e.Events, call.Progress, call.Log)
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
func (p *Player) Forward(_ context.Context, req *adapter.Request) (json.RawMessage, error) {
	e, err := p.tape.Forward(req.Method, req.Params)
	if err != nil {
		return nil, err
	}
	play(e.Events, req.Progress, req.Log)
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

// play sends what came before the end, without its pauses.
func play(events []recording.Event, progress func(done, total float64, message string), log func(slog.Level, string, json.RawMessage)) {
	for _, e := range events {
		if e.Level == "" {
			progress(e.Done, e.Total, e.Message)
			continue
		}
		var level slog.Level
		if err := level.UnmarshalText([]byte(e.Level)); err != nil {
			level = slog.LevelInfo
		}
		log(level, e.Logger, json.RawMessage(e.Data))
	}
}
