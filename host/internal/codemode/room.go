package codemode

import (
	"context"
	"slices"
	"sync"
)

// room is what the large results of one script may take in the host at the same time:
// maxUnread bytes, or one result. A result has a place in it from before it is received
// until the script's process has it.
//
// Places cannot wait for each other. Who has one waits for the result to arrive and for
// the script to read it, both of which end with the call's or the script's time, and
// never for another place: a second attempt at a call gives back that of the first
// before it asks for its own.
type room struct {
	mu      sync.Mutex
	taken   int
	waiting []*entry // who was announced first comes first
}

type entry struct {
	bytes int
	given chan struct{} // closed when it has a place
}

// enter waits for a place, until ctx ends. leave gives it back; only its first call does
// anything.
func (r *room) enter(ctx context.Context, bytes int) (leave func(), err error) {
	e := &entry{bytes, make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, e)
	r.next()
	r.mu.Unlock()
	select {
	case <-e.given:
	case <-ctx.Done():
		if r.giveUp(e) {
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taken -= bytes
		r.next()
	}), nil
}

// giveUp takes out who waits no longer, unless it has just been given its place.
func (r *room) giveUp(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.waiting, e)
	if i < 0 {
		return false
	}
	r.waiting = slices.Delete(r.waiting, i, i+1)
	r.next() // what was behind it may be smaller
	return true
}

// next gives away what is free. r.mu is held.
func (r *room) next() {
	for len(r.waiting) > 0 && (r.taken == 0 || r.taken+r.waiting[0].bytes <= maxUnread) {
		e := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.taken += e.bytes
		close(e.given)
	}
}
