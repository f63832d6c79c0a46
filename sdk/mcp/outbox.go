package mcp

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// maxPosting bounds the messages nobody waits for that are on their way at a
	// time over HTTP.
	maxPosting = 4
	// postTimeout bounds one of them.
	postTimeout = 10 * time.Second
	// goodbyeLimit is how long a close waits for them: a cancellation should still
	// arrive.
	goodbyeLimit = 500 * time.Millisecond
)

// outbox is the sender of a session over HTTP. It posts what nobody waits for;
// requests are posted by whoever makes them, and the outbox only notes which of
// them can have arrived.
type outbox struct {
	base context.Context
	post func(ctx context.Context, message []byte)

	running sync.WaitGroup

	mu      sync.Mutex
	queue   []*outgoing
	posting int
	idle    chan struct{} // closed when posting falls to 0; nil while nobody waits
	closed  bool
}

func newOutbox(base context.Context, post func(context.Context, []byte)) *outbox {
	return &outbox{base: base, post: post}
}

// enqueue implements sender.
func (b *outbox) enqueue(o *outgoing) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return errClosed
	case len(b.queue) >= maxReplies:
		return errors.New("too many unsent messages")
	}
	b.queue = append(b.queue, o)
	if b.posting < maxPosting {
		b.posting++
		b.running.Go(b.run)
	}
	return nil
}

// run posts until nothing is left to post.
func (b *outbox) run() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			if b.posting--; b.posting == 0 && b.idle != nil {
				close(b.idle)
				b.idle = nil
			}
			b.mu.Unlock()
			return
		}
		o := b.queue[0]
		b.queue = b.queue[1:]
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(b.base, postTimeout)
		b.post(ctx, o.message)
		cancel()
	}
}

// flush takes nothing more and waits, within goodbyeLimit, for what is queued.
func (b *outbox) flush(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	var idle chan struct{}
	if b.posting > 0 {
		idle = make(chan struct{})
		b.idle = idle
	}
	b.mu.Unlock()
	if idle == nil {
		return
	}
	enough := time.NewTimer(goodbyeLimit)
	defer enough.Stop()
	select {
	case <-idle:
	case <-enough.C:
	case <-ctx.Done():
	}
}

// wait waits for the end of all posting; base must have ended.
func (b *outbox) wait() { b.running.Wait() }

// withdraw implements sender: it says whether the message has no connection yet.
func (b *outbox) withdraw(o *outgoing) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !o.began
}

// begin notes that a message has a connection: from now on it may arrive.
func (b *outbox) begin(o *outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.began = true
}
