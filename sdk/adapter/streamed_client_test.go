package adapter

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// Streamed has the clients of these tests make their calls on streams of many.
var Streamed bool

// Client is c, or one whose CallTool is a call on a stream of many.
func Client(c adapterpb.AdapterClient) adapterpb.AdapterClient {
	if Streamed {
		return &streamedClient{AdapterClient: c}
	}
	return c
}

type streamedClient struct{ adapterpb.AdapterClient }

// CallTool makes one call on a stream, whose first number it leaves out.
func (c *streamedClient) CallTool(ctx context.Context, req *adapterpb.CallToolRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[adapterpb.CallToolEvent], error) {
	base, end := context.WithCancel(context.Background())
	calls, err := c.Calls(base)
	if err != nil {
		end()
		return nil, err
	}
	s := &streamedCallClient{AdapterClient: c.AdapterClient, ctx: ctx, calls: calls, end: end}
	start := &adapterpb.CallStart{Request: req}
	s.forget = func() bool { return true }
	if by, ok := ctx.Deadline(); ok {
		start.TimeLeft = durationpb.New(time.Until(by))
	} else {
		s.forget = context.AfterFunc(ctx, func() { s.send(&adapterpb.CallsRequest{Call: 2, Request: &adapterpb.CallsRequest_Cancel{}}) })
	}
	s.send(&adapterpb.CallsRequest{Call: 2, Request: &adapterpb.CallsRequest_Start{Start: start}})
	return s, nil
}

type streamedCallClient struct {
	grpc.ClientStream // nil
	adapterpb.AdapterClient
	ctx    context.Context
	calls  grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent]
	end    context.CancelFunc
	forget func() bool
	over   bool

	sending sync.Mutex
}

func (s *streamedCallClient) send(r *adapterpb.CallsRequest) {
	s.sending.Lock()
	defer s.sending.Unlock()
	_ = s.calls.Send(r)
}

// Recv says of a call on a stream what CallTool would have said.
func (s *streamedCallClient) Recv() (*adapterpb.CallToolEvent, error) {
	if s.over {
		return nil, io.EOF
	}
	ev, err := s.calls.Recv()
	if err != nil {
		return nil, s.finish(err)
	}
	if ev.GetCall() != 2 {
		return nil, s.finish(status.Errorf(codes.Internal, "an event of call %d", ev.GetCall()))
	}
	switch e := ev.GetEvent().(type) {
	case *adapterpb.CallsEvent_Progress:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Progress{Progress: e.Progress}}, nil
	case *adapterpb.CallsEvent_Log:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Log{Log: e.Log}}, nil
	case *adapterpb.CallsEvent_Result:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: e.Result}}, s.finish(nil)
	case *adapterpb.CallsEvent_InputRequired:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_InputRequired{InputRequired: e.InputRequired}}, s.finish(nil)
	case *adapterpb.CallsEvent_LargeResult:
		last, err := s.TakeResult(s.ctx, &adapterpb.TakeResultRequest{Result: e.LargeResult.GetResult()})
		return last, s.finish(err)
	case *adapterpb.CallsEvent_Failed:
		if f := failure.FromProto(e.Failed.GetFailure()); f != nil {
			return nil, s.finish(failure.ToStatus(f))
		}
		return nil, s.finish(status.Error(codes.Code(e.Failed.GetCode()), e.Failed.GetMessage()))
	}
	return nil, s.finish(status.Error(codes.Internal, "an event that is none"))
}

// finish lets go of the stream, on which nothing must come any more.
func (s *streamedCallClient) finish(err error) error {
	s.over = true
	s.forget()
	s.sending.Lock()
	_ = s.calls.CloseSend()
	s.sending.Unlock()
	if ev, more := s.calls.Recv(); more == nil && err == nil {
		err = status.Errorf(codes.Internal, "behind the last event: %v", ev)
	}
	s.end()
	return err
}
