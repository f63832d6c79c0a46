package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// What holds for CallTool holds for each call on a stream.
func TestCallsOnStreams(t *testing.T) {
	Streamed = true
	defer func() { Streamed = false }()
	t.Run("bytes", TestCallBytesStayBytes)
	t.Run("last events", TestTerminalEvents)
}

// streamOf opens a stream of calls to a server that answers with f.
func streamOf(t *testing.T, f func(context.Context, *Call) (*Result, error)) (adapterpb.AdapterClient, *service, grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent]) {
	t.Helper()
	c, svc := serveProgram(t, opens(&fake{call: f}))
	mustConfigure(t, c, "{}")
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := c.Calls(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return c, svc, stream
}

func begin(t *testing.T, stream grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent], number uint64, start *adapterpb.CallStart) {
	t.Helper()
	if err := stream.Send(&adapterpb.CallsRequest{Call: number, Request: &adapterpb.CallsRequest_Start{Start: start}}); err != nil {
		t.Fatal(err)
	}
}

func tooled(name string) *adapterpb.CallStart {
	return &adapterpb.CallStart{Request: &adapterpb.CallToolRequest{Tool: name}}
}

func recv(t *testing.T, stream grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent]) *adapterpb.CallsEvent {
	t.Helper()
	ev, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func cancelCall(t *testing.T, stream grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent], number uint64) {
	t.Helper()
	if err := stream.Send(&adapterpb.CallsRequest{Call: number, Request: &adapterpb.CallsRequest_Cancel{Cancel: &adapterpb.CallCancel{}}}); err != nil {
		t.Fatal(err)
	}
}

func TestManyCallsOnAStream(t *testing.T) {
	const calls = 200
	release := make(chan struct{})
	var all sync.WaitGroup
	all.Add(calls)
	_, _, stream := streamOf(t, func(_ context.Context, call *Call) (*Result, error) {
		call.Progress(1, 2, call.Tool)
		all.Done()
		<-release // all of them run at once
		return &Result{JSON: json.RawMessage(`{"tool":"` + call.Tool + `"}`)}, nil
	})
	for n := range calls {
		begin(t, stream, uint64(n+1), tooled(fmt.Sprint(n+1)))
	}
	all.Wait()
	close(release)
	said, answered := map[uint64]bool{}, map[uint64]bool{}
	for len(answered) < calls {
		ev := recv(t, stream)
		n := ev.GetCall()
		switch e := ev.GetEvent().(type) {
		case *adapterpb.CallsEvent_Progress:
			if said[n] || answered[n] || e.Progress.GetMessage() != fmt.Sprint(n) {
				t.Fatalf("call %d: %v", n, ev)
			}
			said[n] = true
		case *adapterpb.CallsEvent_Result:
			if !said[n] || answered[n] || string(e.Result.GetResult()) != fmt.Sprintf(`{"tool":"%d"}`, n) {
				t.Fatalf("call %d: %v", n, ev)
			}
			answered[n] = true
		default:
			t.Fatalf("call %d: %v", n, ev)
		}
	}
	// Workers that are there take the next ones, and the host's end is no fault.
	begin(t, stream, calls+1, tooled("last"))
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		if _, err := stream.Recv(); err == io.EOF && n == 2 {
			return
		} else if err != nil || n == 2 {
			t.Fatalf("event %d of the last call: %v", n, err)
		}
	}
}

func TestCancelOnAStream(t *testing.T) {
	_, _, stream := streamOf(t, func(ctx context.Context, call *Call) (*Result, error) {
		if call.Tool == "quick" {
			return &Result{JSON: json.RawMessage(`{}`)}, nil
		}
		call.Progress(1, 0, "runs")
		<-ctx.Done()
		return nil, ctx.Err()
	})
	begin(t, stream, 1, tooled("waits"))
	begin(t, stream, 2, &adapterpb.CallStart{Request: &adapterpb.CallToolRequest{Tool: "waits"}, TimeLeft: durationpb.New(time.Millisecond)})
	begin(t, stream, 3, tooled("quick"))
	cancelCall(t, stream, 3) // or its answer: both are right
	cancelCall(t, stream, 99)
	ended := map[uint64]*adapterpb.CallsEvent{}
	for len(ended) < 2 {
		if ev := recv(t, stream); ev.GetProgress() == nil {
			ended[ev.GetCall()] = ev
		}
	}
	// Its time was up, which the caller's deadline explains.
	if f := failure.FromProto(ended[2].GetFailed().GetFailure()); f == nil || f.Class != failure.Timeout {
		t.Errorf("call 2 ended with %v", ended[2])
	}
	cancelCall(t, stream, 1)
	if ev := recv(t, stream); ev.GetCall() != 1 || codes.Code(ev.GetFailed().GetCode()) != codes.Canceled {
		t.Errorf("%v", ev)
	}
}

func TestPanicOnAStream(t *testing.T) {
	_, _, stream := streamOf(t, func(ctx context.Context, call *Call) (*Result, error) {
		if call.Tool == "panics" {
			panic("on purpose")
		}
		return &Result{JSON: json.RawMessage(`{}`)}, nil
	})
	begin(t, stream, 1, tooled("panics"))
	f := failure.FromProto(recv(t, stream).GetFailed().GetFailure())
	if f == nil || f.Class != failure.ServerError || !strings.Contains(f.Message, "on purpose") {
		t.Errorf("%+v", f)
	}
	begin(t, stream, 2, tooled("fine"))
	if ev := recv(t, stream); ev.GetCall() != 2 || ev.GetResult() == nil {
		t.Errorf("%v", ev)
	}
}

func TestStreamThatBreaks(t *testing.T) {
	for name, end := range map[string]func(*testing.T, grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent], context.CancelFunc){
		"the host gives it up": func(_ *testing.T, _ grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent], cancel context.CancelFunc) {
			cancel()
		},
		"a number again": func(t *testing.T, stream grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent], _ context.CancelFunc) {
			begin(t, stream, 1, tooled("x"))
			for {
				if _, err := stream.Recv(); err != nil {
					if status.Code(err) != codes.InvalidArgument {
						t.Error(err)
					}
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			running, canceled := make(chan struct{}), make(chan struct{})
			c, _ := serveProgram(t, opens(&fake{call: func(ctx context.Context, _ *Call) (*Result, error) {
				close(running)
				<-ctx.Done()
				close(canceled)
				return nil, ctx.Err()
			}}))
			mustConfigure(t, c, "{}")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			stream, err := c.Calls(ctx)
			if err != nil {
				t.Fatal(err)
			}
			begin(t, stream, 1, tooled("x"))
			<-running
			end(t, stream, cancel)
			<-canceled
		})
	}
}

func TestLargeResults(t *testing.T) {
	answer := func(n int) json.RawMessage {
		return json.RawMessage(`{"text":"` + strings.Repeat("x", n-len(`{"text":""}`)) + `"}`)
	}
	c, svc, stream := streamOf(t, func(_ context.Context, call *Call) (*Result, error) {
		if call.Tool == "small" {
			return &Result{JSON: answer(maxInline)}, nil
		}
		return &Result{JSON: answer(maxInline + 1), IsError: true}, nil
	})
	begin(t, stream, 1, tooled("small"))
	if ev := recv(t, stream); len(ev.GetResult().GetResult()) != maxInline {
		t.Fatalf("the largest that is sent: %.100v", ev)
	}
	begin(t, stream, 2, tooled("large"))
	large := recv(t, stream).GetLargeResult()
	if large.GetResult() == 0 || large.GetBytes() != maxInline+1 {
		t.Fatalf("%v", large)
	}
	// What waits to be taken holds nothing up.
	begin(t, stream, 3, tooled("small"))
	if ev := recv(t, stream); ev.GetCall() != 3 {
		t.Fatalf("%.100v", ev)
	}
	take := &adapterpb.TakeResultRequest{Result: large.GetResult()}
	if last, err := c.TakeResult(t.Context(), take); err != nil || string(last.GetResult().GetResult()) != string(answer(maxInline+1)) || !last.GetResult().GetIsError() {
		t.Fatalf("%.100v, %v", last, err)
	}
	if _, err := c.TakeResult(t.Context(), take); status.Code(err) != codes.NotFound {
		t.Errorf("taken again: %v", err)
	}

	limited := tooled("small")
	limited.MaxResult = maxInline - 1
	begin(t, stream, 4, limited)
	if large := recv(t, stream).GetLargeResult(); large == nil || large.GetResult() != 0 || large.GetBytes() != maxInline {
		t.Errorf("over max_result: %v", large)
	}

	begin(t, stream, 5, tooled("large"))
	large = recv(t, stream).GetLargeResult()
	cancelCall(t, stream, 5)
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF { // so that the call has ended
		t.Fatal(err)
	}
	if _, err := c.TakeResult(t.Context(), &adapterpb.TakeResultRequest{Result: large.GetResult()}); status.Code(err) != codes.NotFound {
		t.Errorf("taken after it was canceled: %v", err)
	}
	if len(svc.kept.open) != 0 {
		t.Errorf("%d results are kept", len(svc.kept.open))
	}
}

func TestStreamBeforeConfigure(t *testing.T) {
	c, _ := serveProgram(t, opens(&fake{}))
	stream, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); failure.FromStatus(err) == nil {
		t.Errorf("%v", err)
	}
}
