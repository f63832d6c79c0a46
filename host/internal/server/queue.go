package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// queue lets at most limit calls run at once, in the order in which they came.
// The zero value has no limit.
type queue struct {
	mu      sync.Mutex
	limit   int // 0: none
	running int
	waiting []chan struct{} // closed when it is that one's turn, oldest first
}

// Enter waits until the server's max_concurrent lets one more call through, for
// at most patience. Leave must follow when it does. The error is a *Failure: the
// call was not sent.
func (s *Server) Enter(ctx context.Context, patience time.Duration) error {
	if fail := s.queue.enter(ctx, patience); fail != nil {
		return fail
	}
	return nil
}

// Leave gives the place of a call to the next one.
func (s *Server) Leave() { s.queue.leave() }

func (q *queue) enter(ctx context.Context, patience time.Duration) *Failure {
	q.mu.Lock()
	if q.limit == 0 || q.running < q.limit {
		q.running++
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	q.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var fail *Failure
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		fail = waitFailure(ctx, "waiting for a running call to end (max_concurrent)")
	case <-timer.C:
		fail = notSent(failure.Timeout, "other calls kept it busy until the time for the whole call was up (max_concurrent, max_timeout)")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, turn); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else {
		q.passLocked() // its turn came in the same instant
	}
	return fail
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.passLocked()
}

// passLocked gives up one place.
func (q *queue) passLocked() {
	q.running--
	q.admitLocked()
}

func (q *queue) admitLocked() {
	for len(q.waiting) > 0 && (q.limit == 0 || q.running < q.limit) {
		q.running++
		close(q.waiting[0])
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
}

// resize changes the limit for calls that have not begun.
func (q *queue) resize(limit int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = limit
	q.admitLocked()
}
