package adapter

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

// maxInline is the largest result that is sent on a stream of calls, in bytes: all
// other events there wait for it. A larger one is announced, and taken on a stream of
// its own.
const maxInline = 128 << 10

// Calls runs any number of calls on one stream.
func (s *service) Calls(stream grpc.BidiStreamingServer[adapterpb.CallsRequest, adapterpb.CallsEvent]) error {
	r, err := s.ready()
	if err != nil {
		return err
	}
	c := &callsStream{service: s, running: r, stream: stream, open: map[uint64]context.CancelFunc{}}
	err = c.receive()
	if err != nil {
		c.cancelAll()
	}
	c.finish()
	return err
}

// callsStream is one stream of calls. Its calls run on goroutines that finish waits
// for.
type callsStream struct {
	service *service
	running *running
	stream  grpc.BidiStreamingServer[adapterpb.CallsRequest, adapterpb.CallsEvent]
	workers sync.WaitGroup

	sending sync.Mutex

	mu   sync.Mutex
	last uint64                        // number of the newest call
	open map[uint64]context.CancelFunc // by number
	over bool                          // no more calls come
	idle int                           // workers that wait for one of next
	next chan streamedCall             // one for each that was idle; closed with over
}

// streamedCall is one call of a stream.
type streamedCall struct {
	number uint64
	start  *adapterpb.CallStart
	ctx    context.Context
	cancel context.CancelFunc
}

// receive takes calls until the host has no more, which is no error.
func (c *callsStream) receive() error {
	for {
		req, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch r := req.GetRequest().(type) {
		case *adapterpb.CallsRequest_Start:
			if err := c.begin(req.GetCall(), r.Start); err != nil {
				return err
			}
		case *adapterpb.CallsRequest_Cancel:
			c.cancel(req.GetCall())
		}
	}
}

// begin has a worker run a call: one that is there, since the stack of a new one would
// have to grow first, which takes a good part of a short call.
func (c *callsStream) begin(number uint64, start *adapterpb.CallStart) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number <= c.last {
		return status.Errorf(codes.InvalidArgument, "call %d after call %d: numbers rise on each stream", number, c.last)
	}
	c.last = number
	call := streamedCall{number: number, start: start}
	if left := start.GetTimeLeft(); left != nil {
		call.ctx, call.cancel = context.WithTimeout(c.stream.Context(), left.AsDuration())
	} else {
		call.ctx, call.cancel = context.WithCancel(c.stream.Context())
	}
	c.open[number] = call.cancel
	if c.idle > 0 {
		c.idle--
		c.next <- call // has room for all that were idle
		return nil
	}
	c.workers.Go(func() { c.work(call) })
	return nil
}

// work runs one call after the other.
func (c *callsStream) work(call streamedCall) {
	for more := true; more; {
		c.run(call)
		if !c.rest() {
			return
		}
		call, more = <-c.next
	}
}

// rest counts a worker that has nothing to do, if there may be one more.
func (c *callsStream) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.idle >= streamWorkers {
		return false
	}
	if c.next == nil {
		c.next = make(chan streamedCall, streamWorkers)
	}
	c.idle++
	return true
}

// cancel ends a call, if it is open.
func (c *callsStream) cancel(number uint64) {
	c.mu.Lock()
	cancel := c.open[number]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (c *callsStream) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.open {
		cancel()
	}
}

// finish waits for the calls that are open.
func (c *callsStream) finish() {
	c.mu.Lock()
	c.over = true
	if c.next != nil {
		close(c.next)
	}
	c.mu.Unlock()
	c.workers.Wait()
}

// run makes a call, to its last event.
func (c *callsStream) run(call streamedCall) {
	c.service.rest.begin()
	defer c.service.rest.end()
	defer func() {
		c.mu.Lock()
		delete(c.open, call.number)
		c.mu.Unlock()
		call.cancel()
	}()
	result, err := c.call(call)
	if err == nil {
		err = c.answer(call, result)
	}
	if err != nil {
		c.send(call.number, callFailed(failure.ToStatus(meant(call.ctx, err))))
	}
}

// call runs the author's function; a panic in it fails this call alone.
func (c *callsStream) call(call streamedCall) (result *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, c.service.panicked("CallTool", v)
		}
	}()
	return c.service.invoke(call.ctx, c.running, call.start.GetRequest(), func(p *adapterpb.Progress, l *adapterpb.LogRecord) error {
		ev := &adapterpb.CallsEvent{Call: call.number}
		if p != nil {
			ev.Event = &adapterpb.CallsEvent_Progress{Progress: p}
		} else {
			ev.Event = &adapterpb.CallsEvent_Log{Log: l}
		}
		return c.send(call.number, ev)
	})
}

// answer sends a result, or announces it and waits until it is taken.
func (c *callsStream) answer(call streamedCall, result *Result) error {
	last, err := terminal(result)
	if err != nil {
		return err
	}
	var ev adapterpb.CallsEvent
	switch e := last.GetEvent().(type) {
	case *adapterpb.CallToolEvent_InputRequired:
		ev.Event = &adapterpb.CallsEvent_InputRequired{InputRequired: e.InputRequired}
	case *adapterpb.CallToolEvent_Result:
		size, limit := uint64(len(result.JSON)), call.start.GetMaxResult()
		switch {
		case limit > 0 && size > limit:
			ev.Event = &adapterpb.CallsEvent_LargeResult{LargeResult: &adapterpb.LargeResult{Bytes: size}}
		case size > maxInline:
			return c.offer(call, last, size)
		default:
			ev.Event = &adapterpb.CallsEvent_Result{Result: e.Result}
		}
	}
	c.send(call.number, &ev)
	return nil
}

// offer keeps a large result until the host has taken it, or wants it no more.
func (c *callsStream) offer(call streamedCall, last *adapterpb.CallToolEvent, size uint64) error {
	k := c.service.kept.put(last)
	defer c.service.kept.drop(k)
	err := c.send(call.number, &adapterpb.CallsEvent{Event: &adapterpb.CallsEvent_LargeResult{
		LargeResult: &adapterpb.LargeResult{Result: k.number, Bytes: size},
	}})
	if err == nil {
		select {
		case <-k.taken:
		case <-call.ctx.Done():
		}
	}
	return nil
}

// send puts an event on the stream. A failed send means that the stream is broken,
// which its receiving end notices.
func (c *callsStream) send(number uint64, ev *adapterpb.CallsEvent) error {
	ev.Call = number
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.stream.Send(ev)
}

// callFailed is the last event of a call that would have ended in a status.
func callFailed(err error) *adapterpb.CallsEvent {
	end := &adapterpb.CallFailed{}
	if f := failure.FromStatus(err); f != nil {
		end.Failure = failure.ToProto(f)
	} else {
		st := status.Convert(err)
		end.Code, end.Message = int32(st.Code()), text(st.Message())
	}
	return &adapterpb.CallsEvent{Event: &adapterpb.CallsEvent_Failed{Failed: end}}
}

// TakeResult hands out a result that was announced.
func (s *service) TakeResult(_ context.Context, req *adapterpb.TakeResultRequest) (*adapterpb.CallToolEvent, error) {
	last := s.kept.take(req.GetResult())
	if last == nil {
		return nil, status.Errorf(codes.NotFound, "there is no result %d: it was taken, or its call canceled", req.GetResult())
	}
	return last, nil
}

// keptResults are the results that were announced and not taken yet. The zero value
// has none.
type keptResults struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*keptResult
}

type keptResult struct {
	number uint64
	event  *adapterpb.CallToolEvent
	taken  chan struct{}
}

func (k *keptResults) put(ev *adapterpb.CallToolEvent) *keptResult {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		k.open = map[uint64]*keptResult{}
	}
	k.last++
	one := &keptResult{number: k.last, event: ev, taken: make(chan struct{})}
	k.open[one.number] = one
	return one
}

func (k *keptResults) take(number uint64) *adapterpb.CallToolEvent {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.open[number]
	if one == nil {
		return nil
	}
	delete(k.open, number)
	close(one.taken)
	return one.event
}

func (k *keptResults) drop(one *keptResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, one.number)
}
