package server

import (
	"context"
	"errors"
	"io"

	"github.com/collet-dev/collet/host/internal/catalog"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// Answer is what a tool answered.
type Answer struct {
	JSON    []byte // the whole MCP result object, byte for byte
	IsError bool
	// Input is set instead of JSON when the upstream needs something first.
	Input *InputRequired
}

// InputRequired is an upstream's question, raw.
type InputRequired struct {
	Requests []byte
	State    string
}

// Request is one call to the adapter.
type Request struct {
	Tool       *catalog.Tool
	Arguments  []byte // a JSON object
	ID         string
	Meta       []byte
	OnProgress func(done, total float64, message string)
}

// Do makes one attempt at one call on the running process. It starts nothing: a
// server that does not run is a failure with delivery not-sent. Cancelling ctx
// cancels the call. The error is a *Failure.
func (s *Server) Do(ctx context.Context, req *Request) (*Answer, error) {
	s.mu.Lock()
	r := s.run
	if r == nil || r.ending() {
		why := s.life.why
		s.mu.Unlock()
		switch {
		case r != nil:
			return nil, r.exited(false)
		case why != nil:
			return nil, notSent(failure.ConnectionRefused, "not running: %w", why)
		}
		return nil, notSent(failure.ConnectionRefused, "not running")
	}
	r.calls++
	s.mu.Unlock()
	defer s.leaveRun(r)
	// Whatever way this returns, the stream is released.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.client.CallTool(ctx, &adapterpb.CallToolRequest{
		Tool: req.Tool.Name, Arguments: req.Arguments, CallId: req.ID, Meta: req.Meta,
	})
	if err != nil {
		return nil, r.fail(ctx, err, true)
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, &Failure{Failure: failure.Failure{
				Origin: failure.OriginAdapter, Message: "the adapter ended the call without a result",
			}}
		}
		if err != nil {
			return nil, r.fail(ctx, err, true)
		}
		r.alive.Store(true)
		switch e := ev.GetEvent().(type) {
		case *adapterpb.CallToolEvent_Progress:
			if req.OnProgress != nil {
				req.OnProgress(e.Progress.GetDone(), e.Progress.GetTotal(), e.Progress.GetMessage())
			}
		case *adapterpb.CallToolEvent_Log:
			s.env.Log.Debug("log of a call", "server", s.name, "call", req.ID, "logger", e.Log.GetLogger(), "data", string(e.Log.GetData()))
		case *adapterpb.CallToolEvent_Result:
			return &Answer{JSON: e.Result.GetResult(), IsError: e.Result.GetIsError()}, nil
		case *adapterpb.CallToolEvent_InputRequired:
			return &Answer{Input: &InputRequired{Requests: e.InputRequired.GetRequests(), State: e.InputRequired.GetRequestState()}}, nil
		}
	}
}
