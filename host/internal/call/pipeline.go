// Package call is the one way to a tool, for every caller: a list of steps from
// a name and arguments to a result or a failure. It owns deadlines, retries and
// validation. It starts no process itself and never looks inside a result beyond
// what a step needs.
package call

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Server is what a call needs of the server it goes to.
type Server interface {
	// Settings are the server's entry as it is now; a call asks once.
	Settings() *config.Server
	Limits(*config.Server) server.Limits
	// Enter waits until max_concurrent admits the call, for at most patience; then
	// Leave follows. The error is a *server.Failure.
	Enter(ctx context.Context, patience time.Duration) error
	Leave()
	// Ready brings the server up if it is not. One that failed may have to wait
	// for its next start: for at most patience. The error is a *server.Failure.
	Ready(ctx context.Context, patience time.Duration) error
	// Do makes one attempt on the running server. The error is a *server.Failure.
	Do(context.Context, *server.Request) (*server.Answer, error)
	// Forward passes on one MCP request that is no call of a tool, as Do does.
	Forward(context.Context, *server.Passage) ([]byte, error)
}

// Pipeline makes calls. Its fields are set once, before the first call.
type Pipeline struct {
	// Find resolves a canonical name, starting the server whose tools are not
	// known yet. The error is a *server.Failure.
	Find func(ctx context.Context, canonical string) (*catalog.Tool, Server, error)
	// Server resolves a server's name. The error is a *server.Failure.
	Server func(name string) (Server, error)
	// Started and Finished are told of every call. They must not block.
	Started, Finished func(Event)
	// Observer follows calls from inside. Nil: nobody does, and it costs nothing.
	Observer Observer
	Log      *slog.Logger
	// Budget is response_budget as it is now, in bytes: the largest result that a
	// model gets. Nil is no budget.
	Budget func() int64
	// Results keeps what is over budget. Nil keeps nothing.
	Results Keeper

	// Hooks are asked about each call and each result. Nil: nobody is.
	Hooks Hooks
	// Rewritten says of a tool that is not what was accepted, in a sentence; "" of any
	// other. Nil: nobody looks.
	Rewritten func(*catalog.Tool) string

	// Consents remembers who agreed to what. Nil remembers nothing.
	Consents Consents
	// Consent asks a person where the request does not say how. Nil: nobody.
	Consent Consenter
	// KeepArguments has the records of answers hold the arguments, and not only their
	// digest.
	KeepArguments bool
	// Conceal keeps secrets out of those. Nil: they are kept as they came.
	Conceal func([]byte) []byte
	// Run names this pipeline in records: sessions are parts of it.
	Run string

	turns     turns
	continued continuations
}

// steps is the life of a call. The attempt step is the only one that reaches the
// adapter: it acquires the server, sets the deadline, and decides on a retry.
var steps = [...]func(*Pipeline, context.Context, *work) *Failure{
	(*Pipeline).resolve,
	(*Pipeline).checkExposure,
	(*Pipeline).checkConsent,
	(*Pipeline).checkForm,
	(*Pipeline).askHooks,
	(*Pipeline).checkArguments,
	(*Pipeline).askConsent,
	(*Pipeline).attempt,
	(*Pipeline).showHooks,
	(*Pipeline).checkResult,
	(*Pipeline).fitBudget,
}

// work is one call on its way through the steps.
type work struct {
	req      Request
	event    Event         // what is told of it
	tool     *catalog.Tool // with the schemas it had when the call began
	server   Server
	set      *config.Server // as it was when the call began
	answer   *server.Answer
	attempts int
	rounds   int           // questions of the tool in place of a result
	rested   time.Duration // with questions open, which is no part of the call's times
	notices  []string

	answered   bool     // by a hook: nothing is sent
	consented  bool     // a person agreed to it, or had to be asked
	unasked    []string // hooks of which a notice says so
	unanswered bool     // an earlier attempt may have had an effect
}

// Do makes one call. The error is always a *Failure.
func (p *Pipeline) Do(ctx context.Context, req Request) (*Result, error) {
	if req.Caller == "" {
		req.Caller = exposure.Program
	}
	if req.Via == "" {
		req.Via = exposure.ByName
	}
	if len(req.Arguments) == 0 {
		req.Arguments = []byte(`{}`)
	}
	w := &work{req: req}
	sn, tn, _ := name.Split(req.Tool)
	w.event = Event{
		ID: newID(), Parent: req.Parent, Method: ToolsCall, Server: sn, Tool: tn,
		Caller: req.Caller, Owner: cmp.Or(req.Owner, results.Local), Session: req.Session, Arguments: req.Arguments,
	}
	begun := time.Now()
	ctx = p.begin(ctx, &w.event, req.Meta)
	fail := p.run(ctx, w)
	w.event.Duration, w.event.Attempts, w.event.Known = time.Since(begun), w.attempts, w.tool != nil
	if fail != nil {
		fail.Server, fail.Tool = sn, tn
		fail.Attempts, fail.Duration, fail.Notices = w.attempts, w.event.Duration, w.notices
	}
	p.end(ctx, &w.event, fail)
	if fail != nil {
		return nil, fail
	}
	res := &Result{
		Tool: req.Tool, JSON: w.answer.JSON, IsError: w.answer.IsError,
		Attempts: w.attempts, Duration: w.event.Duration, Notices: w.notices,
	}
	if in := w.answer.Input; in != nil {
		p.noteContinuation(w, in.State)
		res.Input = &InputRequired{Requests: in.Requests, State: in.State}
	}
	return res, nil
}

func (p *Pipeline) run(ctx context.Context, w *work) *Failure {
	for _, step := range steps {
		if fail := step(p, ctx, w); fail != nil {
			return fail
		}
	}
	return nil
}

func (p *Pipeline) resolve(ctx context.Context, w *work) *Failure {
	tool, srv, err := p.Find(ctx, w.req.Tool)
	if err != nil {
		return wrap(err)
	}
	w.tool, w.server, w.set = tool, srv, srv.Settings()
	if p.Rewritten != nil {
		if text := p.Rewritten(tool); text != "" {
			w.notices = append(w.notices, text)
		}
	}
	return nil
}

func (p *Pipeline) checkExposure(_ context.Context, w *work) *Failure {
	e := w.set.Rules.Of(w.tool.Name)
	if ok, reason := e.Callable(w.req.Caller, w.req.Via); !ok {
		return refused(failure.NotFound, "the tool %s", reason)
	}
	return nil
}

// wrap makes a failure of this package out of one of package server.
func wrap(err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	f := server.AsFailure(err)
	return &Failure{Failure: f.Failure, Misconfigured: f.Misconfigured, Postponed: f.Postponed, Remote: f.Remote, Unlogged: f.Unlogged, StderrTail: f.StderrTail}
}

// refused is a failure before anything was sent.
func refused(class failure.Class, format string, args ...any) *Failure {
	f := failure.New(class, failure.NotSent, format, args...)
	f.Origin = failure.OriginHost
	return &Failure{Failure: *f}
}
