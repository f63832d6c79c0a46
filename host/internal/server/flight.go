package server

import (
	"context"
	"sync"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// flight is one call on a stream, to the one who makes it.
type flight struct {
	stream *callStream
	number uint64
	mark   int // what was sent with it and before

	wake chan struct{} // capacity 1: there is something new

	mu    sync.Mutex
	first [1]*adapterpb.CallsEvent // most calls have one
	queue []*adapterpb.CallsEvent
	bytes int
	room  sync.Cond
	left  bool // nobody takes any more
	err   error
}

// maxQueued is how many bytes of a call's events wait for who makes it until nothing
// more is received on the stream. Callers do not wait for anything between two
// events, so only a flood comes to that.
const maxQueued = 1 << 20

// perEvent is what an event takes beside its text.
const perEvent = 256

func newFlight(c *callStream) *flight {
	f := &flight{stream: c, wake: make(chan struct{}, 1)}
	f.queue, f.room.L = f.first[:0], &f.mu
	return f
}

// put hands an event over. It waits when there is too much already.
func (f *flight) put(ev *adapterpb.CallsEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.bytes >= maxQueued && !f.left {
		f.room.Wait()
	}
	if f.left {
		return
	}
	f.bytes += perEvent + len(ev.GetProgress().GetMessage()) + len(ev.GetLog().GetData()) + len(ev.GetLog().GetLogger())
	f.queue = append(f.queue, ev)
	f.signal()
}

// end says that there will be no more events.
func (f *flight) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.signal()
}

func (f *flight) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns what has come since, and what ended the stream behind it.
func (f *flight) take() ([]*adapterpb.CallsEvent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.queue
	f.queue, f.bytes = nil, 0
	f.room.Signal()
	return events, f.err
}

// close takes no more events. A call that has not ended is canceled.
func (f *flight) close() {
	open := f.settle()
	f.mu.Lock()
	f.left, f.queue = true, nil
	f.room.Signal()
	f.mu.Unlock()
	if open {
		f.stream.cancel(f.number)
	}
}

// settle takes the call off the stream, and says whether it was still on it.
func (f *flight) settle() (open bool) {
	f.stream.mu.Lock()
	defer f.stream.mu.Unlock()
	open = f.stream.calls[f.number] == f
	delete(f.stream.calls, f.number)
	return open
}

// next waits for events. An error is the end of ctx, or of the stream.
func (f *flight) next(ctx context.Context) ([]*adapterpb.CallsEvent, error) {
	select {
	case <-f.wake:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	events, err := f.take()
	if len(events) > 0 && err != nil {
		f.signal() // for the next time
		err = nil
	}
	return events, err
}
