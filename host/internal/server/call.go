package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/redact"
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
	Admit          func(ctx context.Context, bytes int) (leave func(), err error)
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
	if req.Ask != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer r.questions.open(ctx, cancel, req.ID, req.Ask)()
	}
	call := &adapterpb.CallToolRequest{
		Tool: req.Tool.Name, Arguments: req.Arguments, CallId: req.ID, Meta: req.Meta,
		InputResponses: req.InputResponses, RequestState: req.RequestState,
	}
	answer, fail, made := s.among(ctx, r, req, call)
	if !made {
		answer, fail = s.alone(ctx, r, req, call)
	}
	if fail != nil {
		return nil, fail
	}
	return answer, nil
}

// alone makes a call on a stream of its own.
func (s *Server) alone(ctx context.Context, r *run, req *Request, call *adapterpb.CallToolRequest) (*Answer, *Failure) {
	// Whatever way this returns, the stream is released.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.client.CallTool(ctx, call, receive(req.MaxResult)...)
	if err != nil {
		return nil, r.fail(ctx, err, true)
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, withoutResult()
		}
		if err != nil {
			return nil, r.unreceived(ctx, err, req.MaxResult)
		}
		r.alive.Store(true)
		switch e := ev.GetEvent().(type) {
		case *adapterpb.CallToolEvent_Progress:
			req.progressed(e.Progress, s.env.Secrets)
		case *adapterpb.CallToolEvent_Log:
			s.logged(req.ID, e.Log, req.OnLog)
		case *adapterpb.CallToolEvent_Result:
			return answered(e.Result), nil
		case *adapterpb.CallToolEvent_InputRequired:
			return asked(e.InputRequired), nil
		}
	}
}

// among makes a call on a stream of many. When there is none for it, made is false.
func (s *Server) among(ctx context.Context, r *run, req *Request, call *adapterpb.CallToolRequest) (answer *Answer, fail *Failure, made bool) {
	start := &adapterpb.CallStart{Request: call, MaxResult: uint64(max(req.MaxResult, 0))}
	if by, ok := ctx.Deadline(); ok {
		start.TimeLeft = durationpb.New(time.Until(by))
	}
	f := r.streams.begin(start)
	if f == nil {
		return nil, nil, false
	}
	defer f.close()
	for {
		events, err := f.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil, withoutResult(), true
		case ctx.Err() == nil && status.Code(err) == codes.Unimplemented:
			return nil, nil, false // and the adapter has not seen the call
		case err != nil:
			return nil, r.fail(ctx, err, true), true
		}
		for _, ev := range events {
			switch e := ev.GetEvent().(type) {
			case *adapterpb.CallsEvent_Progress:
				req.progressed(e.Progress, s.env.Secrets)
			case *adapterpb.CallsEvent_Log:
				s.logged(req.ID, e.Log, req.OnLog)
			case *adapterpb.CallsEvent_Result:
				if n := len(e.Result.GetResult()); req.MaxResult > 0 && n > req.MaxResult {
					return nil, overMax(req.MaxResult), true
				}
				return answered(e.Result), nil, true
			case *adapterpb.CallsEvent_LargeResult:
				answer, fail = r.takeResult(ctx, f, e.LargeResult, req)
				return answer, fail, true
			case *adapterpb.CallsEvent_InputRequired:
				return asked(e.InputRequired), nil, true
			case *adapterpb.CallsEvent_Failed:
				return nil, r.told(ctx, e.Failed), true
			}
		}
	}
}

// takeResult receives a result that was announced, unless it is too large, once the
// caller has room for it.
func (r *run) takeResult(ctx context.Context, f *flight, large *adapterpb.LargeResult, req *Request) (answer *Answer, fail *Failure) {
	if req.MaxResult > 0 && large.GetBytes() > uint64(req.MaxResult) {
		return nil, overMax(req.MaxResult)
	}
	size := int(min(large.GetBytes(), maxMessage-envelope))
	if req.Admit != nil {
		leave, err := r.admitted(ctx, req, size)
		if err != nil {
			return nil, r.fail(ctx, err, true)
		}
		defer func() {
			if fail != nil {
				leave()
			}
		}()
	}
	received.expect(large.GetBytes())
	ev, err := r.client.TakeResult(ctx, &adapterpb.TakeResultRequest{Result: large.GetResult()}, receive(max(size, 1))...)
	switch {
	case status.Code(err) == codes.ResourceExhausted && failure.FromStatus(err) == nil:
		return nil, &Failure{Failure: *failure.New(failure.InvalidResult, failure.Answered, "the adapter announced a result of %d bytes, and it is larger than that or than a message may be: %s", large.GetBytes(), status.Convert(err).Message())}
	case err != nil:
		return nil, r.fail(ctx, err, true)
	}
	if ev.GetResult() == nil {
		return nil, withoutResult()
	}
	f.settle()
	return answered(ev.GetResult()), nil
}

// admitted waits until the caller has room for a result, or the process that keeps it
// has ended.
func (r *run) admitted(ctx context.Context, req *Request, bytes int) (leave func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return req.Admit(ctx, bytes)
}

// told is the failure that ended a call on a stream of many.
func (r *run) told(ctx context.Context, end *adapterpb.CallFailed) *Failure {
	if f := failure.FromProto(end.GetFailure()); f != nil {
		return r.ofAdapter(f)
	}
	if code := codes.Code(end.GetCode()); code != codes.OK {
		return r.fail(ctx, status.Error(code, end.GetMessage()), true)
	}
	return withoutResult()
}

// unreceived is the failure of a call whose result could not be received.
func (r *run) unreceived(ctx context.Context, err error, maxResult int) *Failure {
	if maxResult > 0 && status.Code(err) == codes.ResourceExhausted && failure.FromStatus(err) == nil {
		return overMax(maxResult)
	}
	return r.fail(ctx, err, true)
}

func answered(r *adapterpb.CallToolResult) *Answer {
	return &Answer{JSON: r.GetResult(), IsError: r.GetIsError()}
}

func asked(in *adapterpb.InputRequired) *Answer {
	return &Answer{Input: &InputRequired{Requests: in.GetRequests(), State: in.GetRequestState()}}
}

func (req *Request) progressed(p *adapterpb.Progress, secrets *redact.Set) {
	if req.OnProgress != nil {
		req.OnProgress(p.GetDone(), p.GetTotal(), secrets.Text(p.GetMessage()))
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

const (
	// envelope is more than a message has around its result.
	envelope = 64 << 10
	// maxMessage is the contract's limit.
	maxMessage = 65 << 20
)

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
	to(levels[rec.GetLevel()], rec.GetLogger(), s.env.Secrets.JSON(rec.GetData()))
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
