package mcpadapter

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// Shape is what an adapter knows of its upstream that the upstream does not say,
// or not truthfully. Every member is optional; without them all is passed on as
// it is. The functions are called from many goroutines and must not block, Admit
// excepted.
type Shape struct {
	// Edit changes one tool of the upstream as the host is to learn of it: its
	// definition (With, Without), hints, a schema for its results. False leaves it
	// out of the list; that it is not called either is Admit's business, since a
	// host may remember an older list.
	Edit func(adapter.Tool) (adapter.Tool, bool)
	// Admit is asked before a call goes to the upstream, and its error is the
	// call's: then nothing is sent. A failure with delivery NotSent says so.
	Admit func(context.Context, *adapter.Call) error
	// Judge says what an answer really is: a failure where the upstream reports one
	// as a success or as prose (delivery Answered), or a result with
	// structuredContent. It sees no result that asks for input.
	Judge func(*adapter.Call, *adapter.Result) (*adapter.Result, error)
	// Explain improves a failure of the upstream or of connecting to it: its class,
	// and what a person can do. It gets a copy to change.
	Explain func(*failure.Failure)
	// Own makes tools that stand beside the upstream's, and in place of one with
	// the same name. It is called once; up reaches the upstream.
	Own func(up Caller) *adapter.Tools
	// Alone says that the own tools are of use without the upstream: while it cannot
	// be reached they are listed alone, and the server is Degraded, not Unavailable.
	Alone bool
}

// Caller calls tools of the upstream for the adapter's own tools.
type Caller interface {
	// CallUpstream sends one call within another: it connects when the upstream is
	// gone and sends once, as for the host's calls. Admit is not asked, Judge is.
	// What the upstream asks meanwhile goes to whoever made call; one that wants
	// input in place of a result is a failure, ConsentRequired.
	CallUpstream(ctx context.Context, call *adapter.Call, tool string, args json.RawMessage) (*adapter.Result, error)
}

// own are the adapter's own tools.
type own struct {
	tools *adapter.Tools
	list  []adapter.Tool
	names []string
	err   error // the author's mistake in one of them
}

func (s *server) makeOwn() {
	if s.shape.Own == nil {
		return
	}
	s.own.tools = s.shape.Own(s)
	s.own.list, s.own.err = s.own.tools.Tools(context.Background())
	for _, t := range s.own.list {
		s.own.names = append(s.own.names, t.Name)
	}
}

func (o *own) has(name string) bool { return slices.Contains(o.names, name) }

// shaped is a tool of the upstream as the host learns of it; false leaves it out.
func (s *server) shaped(t adapter.Tool) (adapter.Tool, bool) {
	if s.own.has(t.Name) {
		return t, false
	}
	if s.shape.Edit == nil {
		return t, true
	}
	return s.shape.Edit(t)
}

// explained is err as the adapter explains it.
func (s *server) explained(err error) error {
	if err == nil || s.shape.Explain == nil {
		return err
	}
	f := *failure.Classify(err)
	s.shape.Explain(&f)
	return &f
}

// judged is a result of the upstream as the adapter reads it.
func (s *server) judged(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
	if s.shape.Judge == nil || res.Input != nil {
		return res, nil
	}
	return s.shape.Judge(call, res)
}

// CallUpstream implements Caller.
func (s *server) CallUpstream(ctx context.Context, call *adapter.Call, tool string, args json.RawMessage) (*adapter.Result, error) {
	up, err := s.link.acquire(ctx)
	if err != nil {
		return nil, err
	}
	r, leave := s.running.enter(ctx, call)
	defer leave()
	raw, err := up.CallTool(ctx, tool, args, mcp.RequestOptions{
		Meta: declaring(up, nil, nil), OnRequest: r.asked, OnNotification: r.notified,
	})
	res, err := s.received(up, &adapter.Call{Tool: tool, ID: call.ID, Args: args}, raw, err)
	if err == nil && res.Input != nil {
		f := failure.New(failure.ConsentRequired, failure.Answered, "%s wants input in the middle of %s, which cannot be given there", tool, call.Tool)
		f.Origin = failure.OriginUpstream
		return nil, f
	}
	return res, err
}

// received is how a call of a tool ended.
func (s *server) received(up Upstream, call *adapter.Call, raw json.RawMessage, err error) (*adapter.Result, error) {
	s.heard(up, err)
	if err != nil {
		return nil, s.explained(err)
	}
	res, err := result(raw, up.Server().Modern)
	if err != nil {
		return nil, err
	}
	return s.judged(call, res)
}

// alone is the list where the upstream offers nothing.
func (s *server) alone() *list {
	return &list{tools: slices.Clone(s.own.list), revision: revision(s.own.list)}
}
