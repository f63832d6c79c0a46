package codemode

import (
	"context"
	"sync"
	"time"
)

// turns says whose script runs next. Those who have the fewest running come first, and
// among them who has waited longest: one that asks for a hundred scripts does not keep
// the others from theirs.
type turns struct {
	mu      sync.Mutex
	free    int
	running map[string]int
	waiting []*turn
}

type turn struct {
	owner string
	given chan struct{} // closed when it is there
}

func newTurns(n int) *turns { return &turns{free: n, running: map[string]int{}} }

// take waits for a turn of owner, at most for wait. ok is false when there was none, or
// ctx ended; otherwise give has to be called with it.
func (t *turns) take(ctx context.Context, owner string, wait time.Duration) (ok bool) {
	mine := &turn{owner, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.next()
	t.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-mine.given:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting {
		if other == mine {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			return false
		}
	}
	if ctx.Err() == nil {
		return true // it came at the last moment
	}
	t.back(owner)
	return false
}

// give gives a turn back.
func (t *turns) give(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.back(owner)
}

// back is give with t.mu held.
func (t *turns) back(owner string) {
	t.free++
	if t.running[owner]--; t.running[owner] == 0 {
		delete(t.running, owner)
	}
	t.next()
}

// next gives away what is free. t.mu is held.
func (t *turns) next() {
	for t.free > 0 && len(t.waiting) > 0 {
		best := 0
		for i, w := range t.waiting {
			if t.running[w.owner] < t.running[t.waiting[best].owner] {
				best = i
			}
		}
		w := t.waiting[best]
		t.waiting = append(t.waiting[:best:best], t.waiting[best+1:]...)
		t.free--
		t.running[w.owner]++
		close(w.given)
	}
}
