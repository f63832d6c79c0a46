package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// inStream is the largest result that is sent within a stream of calls.
const inStream = 128 << 10

// kept are the results that were announced, by their number.
type kept struct {
	mu      sync.Mutex
	last    uint64
	results map[uint64]*adapterpb.CallToolEvent
}

// Calls runs each call as CallTool does, on a goroutine.
func (p *proper) Calls(stream grpc.BidiStreamingServer[adapterpb.CallsRequest, adapterpb.CallsEvent]) error {
	if p.modes.has("streamless") {
		return status.Error(codes.Unimplemented, "announced by mistake")
	}
	var sending sync.Mutex
	cancels := map[uint64]context.CancelFunc{}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		number := req.GetCall()
		if req.GetStart() == nil {
			if cancel := cancels[number]; cancel != nil {
				cancel()
			}
			continue
		}
		ctx, cancel := context.WithCancel(stream.Context())
		cancels[number] = cancel
		one := &oneOfMany{p: p, ctx: ctx, number: number, sending: &sending, stream: stream}
		go one.run(req.GetStart().GetRequest())
	}
}

// oneOfMany is a call on a stream of many, as CallTool sees it.
type oneOfMany struct {
	grpc.ServerStream // nil
	p                 *proper
	ctx               context.Context
	number            uint64
	sending           *sync.Mutex
	stream            grpc.BidiStreamingServer[adapterpb.CallsRequest, adapterpb.CallsEvent]
}

func (o *oneOfMany) Context() context.Context { return o.ctx }

func (o *oneOfMany) run(req *adapterpb.CallToolRequest) {
	err := o.p.CallTool(req, o)
	if err == nil {
		return
	}
	st, _ := status.FromError(err)
	end := &adapterpb.CallFailed{Code: int32(st.Code()), Message: st.Message()}
	if f := failure.FromStatus(err); f != nil {
		end = &adapterpb.CallFailed{Failure: failure.ToProto(f)}
	}
	o.put(&adapterpb.CallsEvent{Event: &adapterpb.CallsEvent_Failed{Failed: end}})
}

func (o *oneOfMany) Send(ev *adapterpb.CallToolEvent) error {
	out := &adapterpb.CallsEvent{}
	switch e := ev.GetEvent().(type) {
	case *adapterpb.CallToolEvent_Progress:
		out.Event = &adapterpb.CallsEvent_Progress{Progress: e.Progress}
	case *adapterpb.CallToolEvent_Result:
		out.Event = &adapterpb.CallsEvent_Result{Result: e.Result}
		if n := len(e.Result.GetResult()); n > inStream && !o.p.modes.has("inline") {
			out.Event = &adapterpb.CallsEvent_LargeResult{LargeResult: &adapterpb.LargeResult{Result: o.p.kept.add(ev), Bytes: uint64(n)}}
		}
	}
	o.put(out)
	return nil
}

func (o *oneOfMany) put(ev *adapterpb.CallsEvent) {
	ev.Call = o.number
	if o.p.modes.has("strangecall") {
		ev.Call += 7
	}
	o.sending.Lock()
	defer o.sending.Unlock()
	_ = o.stream.Send(ev)
}

func (k *kept) add(ev *adapterpb.CallToolEvent) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.results == nil {
		k.results = map[uint64]*adapterpb.CallToolEvent{}
	}
	k.last++
	k.results[k.last] = ev
	return k.last
}

// TakeResult gives a result that was announced away.
func (p *proper) TakeResult(_ context.Context, req *adapterpb.TakeResultRequest) (*adapterpb.CallToolEvent, error) {
	p.kept.mu.Lock()
	defer p.kept.mu.Unlock()
	ev := p.kept.results[req.GetResult()]
	if ev == nil {
		return nil, status.Error(codes.NotFound, "no such result")
	}
	if !p.modes.has("keeps") {
		delete(p.kept.results, req.GetResult())
	}
	return ev, nil
}
