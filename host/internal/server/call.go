package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// Request is one call to the adapter. Its functions are called while Do runs
// and never after; see call.Request.
type Request struct {
	Tool           *catalog.Tool
	Arguments      []byte // a JSON object
	ID             string
	Meta           []byte // an MCP _meta object, or nil
	InputResponses []byte
	RequestState   string
	MaxResult      int // bytes; 0 is whatever the contract carries
	OnProgress     func(done, total float64, message string)
	OnLog          func(level, logger string, data json.RawMessage)
	Ask            Asker
}

// Do makes one attempt at one call on the running process. It starts nothing: a
// server that does not run is a failure with delivery not-sent. Cancelling ctx
// cancels the call. The error is a *Failure.
func (s *Server) Do(ctx context.Context, req *Request) (*Answer, error) {
	r, fail := s.useRun()
	if fail != nil {
		return nil, fail
	}
	defer s.leaveRun(r)
	// Whatever way this returns, the stream is released.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.questions.open(ctx, cancel, req.ID, req.Ask)()
	stream, err := r.client.CallTool(ctx, &adapterpb.CallToolRequest{
		Tool: req.Tool.Name, Arguments: req.Arguments, CallId: req.ID, Meta: req.Meta,
		InputResponses: req.InputResponses, RequestState: req.RequestState,
	}, receive(req.MaxResult)...)
	if err != nil {
		return nil, r.fail(ctx, err, true)
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, withoutResult()
		}
		if err != nil && req.MaxResult > 0 && status.Code(err) == codes.ResourceExhausted && failure.FromStatus(err) == nil {
			return nil, overMax(req.MaxResult)
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
			s.logged(req.ID, e.Log, req.OnLog)
		case *adapterpb.CallToolEvent_Result:
			return &Answer{JSON: e.Result.GetResult(), IsError: e.Result.GetIsError()}, nil
		case *adapterpb.CallToolEvent_InputRequired:
			return &Answer{Input: &InputRequired{Requests: e.InputRequired.GetRequests(), State: e.InputRequired.GetRequestState()}}, nil
		}
	}
}

// useRun returns the running process and counts a use of it; leaveRun must
// follow.
func (s *Server) useRun() (*run, *Failure) {
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
	return r, nil
}

// envelope is more than a message has around its result.
const envelope = 64 << 10

// receive has gRPC refuse a message by its length, before it takes memory.
func receive(maxResult int) []grpc.CallOption {
	if maxResult <= 0 {
		return nil
	}
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(maxResult + envelope)}
}

// overMax is a result that the caller does not take; the tool has run.
func overMax(maxResult int) *Failure {
	return &Failure{Failure: *failure.New(failure.OverBudget, failure.Answered, "the result is over the limit of %d bytes; the call itself succeeded", maxResult)}
}

func withoutResult() *Failure {
	return &Failure{Failure: failure.Failure{
		Origin: failure.OriginAdapter, Message: "the adapter ended the call without a result",
	}}
}

// logged hands a record of a call to who made it, or to the host's own log.
func (s *Server) logged(id string, rec *adapterpb.LogRecord, to func(level, logger string, data json.RawMessage)) {
	if to == nil {
		s.env.Log.Debug("log of a call", "server", s.name, "call", id, "logger", rec.GetLogger(), "data", string(rec.GetData()))
		return
	}
	to(levels[rec.GetLevel()], rec.GetLogger(), rec.GetData())
}

// levels are MCP's names of the contract's levels (2025-11-25, server/utilities/
// logging). One that is not known is info.
var levels = map[adapterpb.LogRecord_Level]string{
	adapterpb.LogRecord_LEVEL_UNSPECIFIED: "info",
	adapterpb.LogRecord_LEVEL_DEBUG:       "debug",
	adapterpb.LogRecord_LEVEL_INFO:        "info",
	adapterpb.LogRecord_LEVEL_WARN:        "warning",
	adapterpb.LogRecord_LEVEL_ERROR:       "error",
}
