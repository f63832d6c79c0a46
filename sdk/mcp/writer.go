package mcp

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// writeBatch is up to how many bytes of waiting messages go out in one write.
	writeBatch = 32 << 10
	// maxReplies bounds the messages nobody waits for (answers to the peer's
	// requests, cancellations) that a peer which does not read may pile up.
	maxReplies = 1024
	// maxUnread is how many bytes of those a peer may leave unread, and how many of
	// all messages before room waits.
	maxUnread = 4 << 20
	// flushLimit is how long a close still writes. A peer that reads at all has
	// room in its pipe at once.
	flushLimit = 100 * time.Millisecond
)

// outgoing is one message on its way out.
type outgoing struct {
	message []byte // with its newline; not touched again by the sender
	reply   bool   // nobody waits for it and it may be dropped under pressure
	// guarded by writer.mu:
	began     bool // some of it may have been written
	withdrawn bool // none of it will be
}

// writer is the one goroutine that waits for the peer. Whoever sends writes at once
// what the peer's pipe takes without waiting, when there is nothing before it, and
// queues the rest, so a peer that stops reading blocks this goroutine and nobody else,
// and a message is either whole on the wire or not there at all.
type writer struct {
	w      io.WriteCloser
	failed func(error)        // called once, when writing is over, unless by close
	now    func(b []byte) int // writes what it can without waiting; nil where there is no such way

	mu         sync.Mutex
	wake       sync.Cond
	queue      []*outgoing
	batch      []*outgoing // what take returned last; run's alone
	replies    int
	bytes      int  // of queue
	replyBytes int  // of the replies in it
	writing    bool // somebody is; nobody else may
	closed     bool
}

func newWriter(w io.WriteCloser, failed func(error)) *writer {
	wr := &writer{w: w, failed: failed}
	wr.wake.L = &wr.mu
	if f, ok := w.(*os.File); ok {
		wr.now = atOnce(f)
	}
	return wr
}

var errClosed = errors.New("the connection is closed")

// enqueue hands a message over; it never blocks.
func (wr *writer) enqueue(o *outgoing) error {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	if wr.closed || o.withdrawn {
		return errClosed
	}
	if o.reply {
		if wr.replies >= maxReplies || wr.replyBytes >= maxUnread {
			return errors.New("too many unread messages")
		}
	}
	if o = wr.writeNow(o); o != nil {
		wr.queue = append(wr.queue, o)
		wr.count(o, 1)
	}
	if len(wr.queue) > 0 || wr.closed {
		wr.wake.Broadcast() // run
	}
	return nil
}

// writeNow writes a message as far as that is possible without waiting, and returns
// what is left of it to be queued: first of all, since who sends meanwhile queues
// behind it. The caller holds mu, which is let go for the while.
func (wr *writer) writeNow(o *outgoing) *outgoing {
	if wr.now == nil || wr.writing || len(wr.queue) > 0 {
		return o
	}
	wr.writing, o.began = true, true
	wr.mu.Unlock()
	n := wr.now(o.message)
	wr.mu.Lock()
	wr.writing = false
	switch {
	case n == len(o.message):
		return nil
	case n > 0:
		o = &outgoing{message: o.message[n:], reply: o.reply, began: true}
	default:
		o.began = false
	}
	wr.queue = append([]*outgoing{o}, wr.queue...)
	wr.count(o, 1)
	return nil
}

// count adds a message to what is queued, times -1 takes it off.
func (wr *writer) count(o *outgoing, times int) {
	wr.bytes += times * len(o.message)
	if o.reply {
		wr.replies += times
		wr.replyBytes += times * len(o.message)
	}
}

// room waits until the peer has read enough for more messages, or until writing
// is over.
func (wr *writer) room() {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	for wr.bytes >= maxUnread && !wr.closed {
		wr.wake.Wait()
	}
}

// withdraw takes a message back and says whether that worked: if so, not a byte
// of it was or will be written.
func (wr *writer) withdraw(o *outgoing) bool {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	if o.began {
		return false
	}
	o.withdrawn = true
	for i, q := range wr.queue {
		if q == o {
			wr.queue = slices.Delete(wr.queue, i, i+1)
			wr.count(o, -1)
			break
		}
	}
	return true
}

// finish takes nothing more; run returns once it has written what is queued.
func (wr *writer) finish() {
	wr.mu.Lock()
	wr.closed = true
	wr.wake.Broadcast()
	wr.mu.Unlock()
}

// close ends writing: run writes what is queued, a cancellation for instance,
// within flushLimit, closes the pipe and returns. On Windows a pipe has no
// deadlines: there a blocked write ends when the pipe's reader is gone.
func (wr *writer) close() {
	wr.finish()
	if f, ok := wr.w.(*os.File); ok {
		f.SetWriteDeadline(time.Now().Add(flushLimit))
	}
}

// run writes until close or an error, then closes the pipe.
func (wr *writer) run() {
	defer wr.w.Close()
	var buf []byte
	for wrote := false; ; wrote = true {
		batch := wr.take(wrote)
		if batch == nil {
			return
		}
		out := batch[0].message
		if len(batch) > 1 {
			buf = buf[:0]
			for _, o := range batch {
				buf = append(buf, o.message...)
			}
			out = buf
		}
		n, err := wr.w.Write(out)
		if err != nil {
			wr.fail(batch, n, err)
			return
		}
		clear(batch) // a large message must not live until the next one
	}
}

// take waits for messages and marks those it returns as begun: one, or as many as fit
// in one write. wrote says that those of before are written. nil means closed and
// written.
func (wr *writer) take(wrote bool) []*outgoing {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	if wrote {
		wr.writing = false
	}
	for wr.writing || len(wr.queue) == 0 && !wr.closed {
		wr.wake.Wait()
	}
	if len(wr.queue) == 0 {
		return nil
	}
	wr.writing = true
	n, size := 0, 0
	for _, o := range wr.queue {
		size += len(o.message)
		if n > 0 && size > writeBatch {
			break
		}
		o.began = true
		wr.count(o, -1)
		n++
	}
	wr.batch = append(wr.batch[:0], wr.queue[:n]...)
	wr.queue = slices.Delete(wr.queue, 0, n)
	wr.wake.Broadcast() // room
	return wr.batch
}

// fail ends writing after an error; the messages of the batch whose first byte
// was not written never began.
func (wr *writer) fail(batch []*outgoing, written int, err error) {
	wr.mu.Lock()
	for _, o := range batch {
		if written <= 0 {
			o.began = false
		}
		written -= len(o.message)
	}
	closed := wr.closed
	wr.closed = true
	wr.wake.Broadcast()
	wr.mu.Unlock()
	if !closed {
		wr.failed(err)
	}
}
