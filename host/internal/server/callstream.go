package server

import (
	"context"
	"slices"
	"sync"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// featureCalls is announced by adapters that take calls on streams of many.
const featureCalls = "calls"

const (
	// maxStreams is how many streams a process's calls are spread over. Each has a
	// goroutine that receives.
	maxStreams = 2
	// maxStreamed is the largest request that goes on such a stream, in bytes.
	maxStreamed = 16 << 10
	// maxUnread is how many bytes of requests an adapter may not have read yet for
	// another to go on the stream. gRPC lets a sender wait above 64 KiB, and there who
	// waits cannot give up; an adapter that is stopped must not hold calls beyond their
	// deadline.
	maxUnread = 32 << 10
	// perRequest is more than a request has around its parts.
	perRequest = 64
)

// callStreams are the streams on which the calls of one process go. A call for which
// there is no place has a stream of its own, as all have where the adapter does not
// announce the feature.
type callStreams struct {
	client  adapterpb.AdapterClient
	heard   func()             // of the process, with every event
	strange func(event uint64) // an event of a call that there never was

	ctx  context.Context
	stop context.CancelFunc

	mu   sync.Mutex
	off  bool // not announced, not implemented after all, or the process is over
	open []*callStream
	work sync.WaitGroup // receivers, and cancellations that have to wait
}

func newCallStreams(client adapterpb.AdapterClient, announced bool, heard func(), strange func(uint64)) *callStreams {
	s := &callStreams{client: client, off: !announced, heard: heard, strange: strange}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// begin sends a request on the stream that has the least to do. It is nil when the
// request needs a stream of its own.
func (s *callStreams) begin(start *adapterpb.CallStart) *flight {
	size := streamedSize(start.GetRequest())
	if size > maxStreamed {
		return nil
	}
	if c := s.pick(); c != nil {
		return c.begin(start, size)
	}
	return nil
}

// streamedSize is about how large a request is; a large number is of one that gRPC
// might refuse, which would be the end of the stream.
func streamedSize(req *adapterpb.CallToolRequest) int {
	for _, s := range []string{req.GetTool(), req.GetCallId(), req.GetRequestState()} {
		if !utf8.ValidString(s) {
			return maxStreamed + 1
		}
	}
	return perRequest + len(req.GetTool()) + len(req.GetCallId()) + len(req.GetRequestState()) +
		len(req.GetArguments()) + len(req.GetMeta()) + len(req.GetInputResponses())
}

func (s *callStreams) pick() *callStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return nil
	}
	var best *callStream
	least := 0
	for _, c := range s.open {
		if n := c.inFlight(); best == nil || n < least {
			best, least = c, n
		}
	}
	if best != nil && (least == 0 || len(s.open) == maxStreams) {
		return best
	}
	stream, err := s.client.Calls(s.ctx)
	if err != nil { // the connection is gone, which a call of its own explains
		return best
	}
	c := &callStream{streams: s, stream: stream, calls: map[uint64]*flight{}}
	s.open = append(s.open, c)
	s.work.Go(c.receive)
	return c
}

// drop takes a broken stream out of use, and all of them when the adapter does not
// implement what it announced.
func (s *callStreams) drop(c *callStream, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *callStream) bool { return o == c })
	s.off = s.off || status.Code(err) == codes.Unimplemented
}

// close ends the streams of a process that is over, and waits for them.
func (s *callStreams) close() {
	s.mu.Lock()
	s.off = true
	s.stop()
	s.mu.Unlock()
	s.work.Wait()
}

// spawn runs what close waits for, unless it is too late for that.
func (s *callStreams) spawn(run func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.work.Go(run)
	}
}

// callStream is one of the streams.
type callStream struct {
	streams *callStreams
	stream  grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent]

	sending sync.Mutex // held while something is sent

	mu sync.Mutex
	// sent is how many bytes of requests there were, and read how many of them the
	// adapter has certainly read.
	sent, read int
	last       uint64
	calls      map[uint64]*flight // by number; nil once the stream has ended
	odd        bool               // an event of a call that never was is known
}

func (c *callStream) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// begin sends a request, or returns nil when there is no room for it.
func (c *callStream) begin(start *adapterpb.CallStart, size int) *flight {
	f := newFlight(c)
	c.sending.Lock() // numbers rise in the order of sending
	defer c.sending.Unlock()
	c.mu.Lock()
	if c.calls == nil || c.sent-c.read+size > maxUnread {
		c.mu.Unlock()
		return nil
	}
	c.last++
	c.sent += size
	f.number, f.mark = c.last, c.sent
	c.calls[f.number] = f
	c.mu.Unlock()
	// A send that fails is the end of the stream, of which the flight hears.
	_ = c.stream.Send(&adapterpb.CallsRequest{Call: f.number, Request: &adapterpb.CallsRequest_Start{Start: start}})
	return f
}

// cancel tells the adapter that nobody waits for a call any more.
func (c *callStream) cancel(number uint64) {
	c.mu.Lock()
	c.sent += perRequest
	full := c.sent-c.read > maxUnread
	c.mu.Unlock()
	send := func() {
		c.sending.Lock()
		defer c.sending.Unlock()
		_ = c.stream.Send(&adapterpb.CallsRequest{Call: number, Request: &adapterpb.CallsRequest_Cancel{Cancel: &adapterpb.CallCancel{}}})
	}
	if full {
		c.streams.spawn(send) // it may take until the adapter reads
		return
	}
	send()
}

// receive hands events to the calls they belong to, until the stream ends.
func (c *callStream) receive() {
	for {
		ev, err := c.stream.Recv()
		if err != nil {
			c.fail(err)
			return
		}
		c.streams.heard()
		c.deliver(ev)
	}
}

func (c *callStream) deliver(ev *adapterpb.CallsEvent) {
	number := ev.GetCall()
	c.mu.Lock()
	f := c.calls[number]
	if f != nil {
		c.read = max(c.read, f.mark)
		if isLast(ev) {
			delete(c.calls, number)
		}
	}
	tell := f == nil && number > c.last && !c.odd
	c.odd = c.odd || tell
	c.mu.Unlock()
	if tell {
		c.streams.strange(number)
	}
	if f != nil {
		f.put(ev)
	}
}

// isLast says whether an event ends its call. A result that is still to be taken does
// not.
func isLast(ev *adapterpb.CallsEvent) bool {
	switch e := ev.GetEvent().(type) {
	case *adapterpb.CallsEvent_LargeResult:
		return e.LargeResult.GetResult() == 0
	case nil, *adapterpb.CallsEvent_Progress, *adapterpb.CallsEvent_Log:
		return false
	}
	return true
}

// fail ends the calls of a stream that has ended.
func (c *callStream) fail(err error) {
	c.streams.drop(c, err)
	c.mu.Lock()
	calls := c.calls
	c.calls = nil
	c.mu.Unlock()
	for _, f := range calls {
		f.end(err)
	}
}
