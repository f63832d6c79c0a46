package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// streams says whether this process announces streams of calls. What it announces must
// follow from its file alone.
func streams() bool { return strings.Contains(filepath.Base(os.Args[0]), "streams") }

func features() string {
	if streams() {
		return `"features":["calls"],`
	}
	return ""
}

// Calls runs the same tools as CallTool, each on a goroutine.
func (s *served) Calls(stream grpc.BidiStreamingServer[adapterpb.CallsRequest, adapterpb.CallsEvent]) error {
	if s.modes.has("nocalls") {
		return status.Error(codes.Unimplemented, "announced by mistake")
	}
	c := &calls{served: s, stream: stream, open: map[uint64]context.CancelFunc{}}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		if start := req.GetStart(); start != nil {
			ctx, cancel := context.WithCancel(stream.Context())
			c.open[req.GetCall()] = cancel
			go c.run(ctx, req.GetCall(), start)
		} else if cancel := c.open[req.GetCall()]; cancel != nil {
			cancel()
		}
		c.mu.Unlock()
	}
}

type calls struct {
	*served
	stream grpc.BidiStreamingServer[adapterpb.CallsRequest, adapterpb.CallsEvent]

	sending sync.Mutex
	mu      sync.Mutex
	open    map[uint64]context.CancelFunc
}

func (c *calls) send(ev *adapterpb.CallsEvent) {
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = c.stream.Send(ev)
}

func (c *calls) run(ctx context.Context, number uint64, start *adapterpb.CallStart) {
	c.calls.Add(1)
	req := start.GetRequest()
	if req.GetTool() == "odd" {
		var args struct{ Do string }
		_ = json.Unmarshal(req.GetArguments(), &args)
		oddities[args.Do](c, number)
		return
	}
	tool, ok := tools[req.GetTool()]
	if !ok {
		c.send(failed(number, status.Errorf(codes.NotFound, "no tool %q", req.GetTool())))
		return
	}
	result, err := tool(c.served, req, &one{ctx: ctx, calls: c, number: number})
	if err != nil {
		c.send(failed(number, err))
		return
	}
	c.send(answer(number, result, req.GetTool() == "isError"))
}

func answer(number uint64, result []byte, isError bool) *adapterpb.CallsEvent {
	return &adapterpb.CallsEvent{Call: number, Event: &adapterpb.CallsEvent_Result{Result: &adapterpb.CallToolResult{Result: result, IsError: isError}}}
}

func failed(number uint64, err error) *adapterpb.CallsEvent {
	st := status.Convert(err)
	return &adapterpb.CallsEvent{Call: number, Event: &adapterpb.CallsEvent_Failed{Failed: &adapterpb.CallFailed{Code: int32(st.Code()), Message: st.Message()}}}
}

// one is a call as its tool knows it from CallTool.
type one struct {
	grpc.ServerStream // nil
	ctx               context.Context
	calls             *calls
	number            uint64
}

func (o *one) Context() context.Context { return o.ctx }

func (o *one) Send(ev *adapterpb.CallToolEvent) error {
	o.calls.send(&adapterpb.CallsEvent{Call: o.number, Event: &adapterpb.CallsEvent_Progress{Progress: ev.GetProgress()}})
	return o.ctx.Err()
}

// oddities are what the tool odd does.
var oddities = map[string]func(*calls, uint64){
	// events of calls that there never were
	"unknown": func(c *calls, n uint64) {
		for range 1000 {
			c.send(answer(n+1_000_000, []byte(`{"of":"nobody"}`), false))
		}
		c.send(answer(0, []byte(`{"of":"nobody"}`), false))
		c.send(answer(n, []byte(`{"odd":1}`), false))
	},
	// a last event after the last event
	"twice": func(c *calls, n uint64) {
		c.send(answer(n, []byte(`{"odd":1}`), false))
		c.send(answer(n, []byte(`{"odd":2}`), false))
		c.send(failed(n, status.Error(codes.Internal, "third")))
	},
	// other events after the last event
	"after": func(c *calls, n uint64) {
		c.send(answer(n, []byte(`{"odd":1}`), false))
		for range 1000 {
			c.send(&adapterpb.CallsEvent{Call: n, Event: &adapterpb.CallsEvent_Progress{Progress: &adapterpb.Progress{Message: "after"}}})
		}
	},
	// events that are none
	"empty": func(c *calls, n uint64) {
		c.send(&adapterpb.CallsEvent{Call: n})
		c.send(&adapterpb.CallsEvent{Call: n, Event: &adapterpb.CallsEvent_Progress{}})
		c.send(&adapterpb.CallsEvent{Call: n, Event: &adapterpb.CallsEvent_Log{}})
		c.send(answer(n, []byte(`{"odd":1}`), false))
	},
	// the end of a call, without a reason
	"nothing": func(c *calls, n uint64) {
		c.send(&adapterpb.CallsEvent{Call: n, Event: &adapterpb.CallsEvent_Failed{}})
	},
	// a status that nobody knows
	"status": func(c *calls, n uint64) { c.send(failed(n, status.Error(4711, "from the future"))) },
	// a result to take that is not there
	"nowhere": func(c *calls, n uint64) {
		c.send(&adapterpb.CallsEvent{Call: n, Event: &adapterpb.CallsEvent_LargeResult{LargeResult: &adapterpb.LargeResult{Result: 1, Bytes: 1 << 20}}})
	},
	// a result to take that is as large as announced, and one that is larger
	"large":  func(c *calls, n uint64) { c.announce(n, 3_000_000) },
	"larger": func(c *calls, n uint64) { c.announce(n, 1000) },
	// a message over the contract's limit, which is the end of the stream
	"toolarge": func(c *calls, n uint64) { c.send(answer(n, make([]byte, 64<<20+1<<20), false)) },
}

// takeable is the number of the only result that can be taken, again and again.
const takeable = 3_000_000

func (c *calls) announce(n, bytes uint64) {
	c.send(&adapterpb.CallsEvent{Call: n, Event: &adapterpb.CallsEvent_LargeResult{LargeResult: &adapterpb.LargeResult{Result: takeable, Bytes: bytes}}})
}

// TakeResult returns the result takeable, which has as many bytes.
func (s *served) TakeResult(ctx context.Context, req *adapterpb.TakeResultRequest) (*adapterpb.CallToolEvent, error) {
	if req.GetResult() != takeable {
		return s.UnimplementedAdapterServer.TakeResult(ctx, req)
	}
	result := bytes.Repeat([]byte(" "), takeable)
	copy(result, "{}")
	return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: result}}}, nil
}

// maxSend is the contract's limit, which with streams of calls may be broken.
func maxSend() int {
	if streams() {
		return 2 * wire.MaxMessage
	}
	return wire.MaxMessage
}
