package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// featureCalls announces streams of calls.
const featureCalls = "calls"

const (
	// maxInStream is the largest result that may come within a stream of calls.
	maxInStream = 128 << 10
	// maxStreamed is the largest request that a host sends on one.
	maxStreamed = 16 << 10
)

// lane is a stream of calls. All calls of a session share one, as those of a host do.
type lane struct {
	p      *session
	stream grpc.BidiStreamingClient[adapterpb.CallsRequest, adapterpb.CallsEvent]
	stop   context.CancelFunc
	over   chan struct{} // closed when nothing more is received; err is final

	mu   sync.Mutex // also of sending
	last uint64
	open map[uint64]*place
	err  error
}

// place is where the events of one call go.
type place struct {
	events chan *adapterpb.CallsEvent
	gone   chan struct{} // closed when nobody waits for them
}

// lane is the session's stream, opened with the first call.
func (p *session) lane() (*lane, error) {
	p.laning.Lock()
	defer p.laning.Unlock()
	if p.stream != nil {
		return p.stream, nil
	}
	ctx, stop := context.WithCancel(context.Background()) // ends with the session
	stream, err := p.Calls(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	l := &lane{p: p, stream: stream, stop: stop, over: make(chan struct{}), open: map[uint64]*place{}}
	go l.receive()
	p.stream = l
	return l, nil
}

func (l *lane) receive() {
	defer close(l.over)
	for {
		ev, err := l.stream.Recv()
		l.mu.Lock()
		to := l.open[ev.GetCall()]
		if err == nil && ev.GetCall() > l.last {
			err = status.Errorf(codes.Internal, "an event of call %d, and there were only %d", ev.GetCall(), l.last)
		}
		if err != nil {
			l.err = err
			l.mu.Unlock()
			l.stop()
			return
		}
		l.mu.Unlock()
		if to == nil {
			continue // a call that has ended
		}
		select {
		case to.events <- ev:
		case <-to.gone:
		}
	}
}

// close ends the stream and waits for that.
func (l *lane) close() {
	l.stop()
	<-l.over
}

// begin sends one call.
func (l *lane) begin(ctx context.Context, req *adapterpb.CallToolRequest) (number uint64, at *place, err error) {
	start := &adapterpb.CallStart{Request: req}
	if by, ok := ctx.Deadline(); ok {
		start.TimeLeft = durationpb.New(time.Until(by))
	}
	at = &place{events: make(chan *adapterpb.CallsEvent), gone: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.open[l.last] = at
	return l.last, at, l.stream.Send(&adapterpb.CallsRequest{Call: l.last, Request: &adapterpb.CallsRequest_Start{Start: start}})
}

// leave ends the wait for a call.
func (l *lane) leave(number uint64, at *place, cancel bool) {
	close(at.gone)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, number)
	if cancel {
		_ = l.stream.Send(&adapterpb.CallsRequest{Call: number, Request: &adapterpb.CallsRequest_Cancel{Cancel: &adapterpb.CallCancel{}}})
	}
}

// callStreamed is call on a stream of many.
func (p *session) callStreamed(ctx context.Context, req *adapterpb.CallToolRequest, each func()) (a answer) {
	l, err := p.lane()
	if err != nil {
		return answer{err: err}
	}
	number, at, err := l.begin(ctx, req)
	canceled := false
	defer func() { l.leave(number, at, canceled) }()
	if errors.Is(err, io.EOF) { // why it ended is told to whoever receives
		select {
		case <-l.over:
			err = l.err
		case <-ctx.Done():
		}
	}
	for err == nil {
		var ev *adapterpb.CallsEvent
		select {
		case ev = <-at.events:
		case <-l.over:
			err = l.err
			continue
		case <-ctx.Done():
			canceled = true
			return answer{err: status.FromContextError(ctx.Err()).Err()}
		}
		switch e := ev.GetEvent().(type) {
		case *adapterpb.CallsEvent_Progress:
			a.progressed(e.Progress)
		case *adapterpb.CallsEvent_Log:
		case *adapterpb.CallsEvent_Result:
			if n := len(e.Result.GetResult()); n > maxInStream {
				return answer{err: fmt.Errorf("a result of %d bytes came within the stream, where all others wait for it; over %d it is announced with large_result", n, maxInStream)}
			}
			a.events++
			a.result, a.isError = e.Result.GetResult(), e.Result.GetIsError()
			return a
		case *adapterpb.CallsEvent_LargeResult:
			a.events++
			a.result, a.isError, a.err = p.take(ctx, e.LargeResult)
			return a
		case *adapterpb.CallsEvent_InputRequired:
			a.events++
			a.asks = true
			return a
		case *adapterpb.CallsEvent_Failed:
			if f := failure.FromProto(e.Failed.GetFailure()); f != nil {
				a.err = failure.ToStatus(f)
			} else {
				a.err = status.Error(codes.Code(e.Failed.GetCode()), e.Failed.GetMessage()) // nil for OK: an end without a result
			}
			return a
		}
		if each != nil {
			each()
		}
	}
	a.err = err
	return a
}

// take receives a result that was announced, and tries to a second time.
func (p *session) take(ctx context.Context, large *adapterpb.LargeResult) (result []byte, isError bool, err error) {
	req := &adapterpb.TakeResultRequest{Result: large.GetResult()}
	ev, err := p.TakeResult(ctx, req)
	if err != nil {
		return nil, false, err
	}
	result = ev.GetResult().GetResult()
	if uint64(len(result)) != large.GetBytes() {
		return nil, false, fmt.Errorf("large_result announced %d bytes, and TakeResult returned %d", large.GetBytes(), len(result))
	}
	if _, err := p.TakeResult(ctx, req); status.Code(err) != codes.NotFound {
		return nil, false, fmt.Errorf("TakeResult of a result that was taken ends with %s, not NotFound", status.Code(err))
	}
	return result, ev.GetResult().GetIsError(), nil
}

// bothWays tries something with a session whose calls go over CallTool, and, where the
// plugin announces that, with one whose calls share a stream.
func (s *subject) bothWays(ctx context.Context, try func(p *session) error) error {
	once := func(streamed bool) error {
		p, err := s.open(ctx)
		if err != nil {
			return err
		}
		defer p.close()
		p.streamed = streamed
		return try(p)
	}
	said := once(false)
	if v := verdictOf(said); v.status != Passed || !slices.Contains(s.desc.GetFeatures(), featureCalls) {
		return said
	}
	streamed := once(true)
	switch v := verdictOf(streamed); {
	case v.status == Failed:
		return fmt.Errorf("on a stream of calls: %w", streamed)
	case streamed != nil:
		return streamed
	}
	return said
}
