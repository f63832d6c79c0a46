package call

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// attempt acquires the server and asks it, at most twice. The second failure is
// the one reported.
func (p *Pipeline) attempt(ctx context.Context, w *work) *Failure {
	limits := w.server.Limits(w.set)
	if w.req.Timeout > 0 {
		limits.Timeout = w.req.Timeout
		limits.MaxTimeout = max(limits.MaxTimeout, limits.Timeout)
	}
	begun := time.Now()
	for {
		fail := p.try(ctx, w, limits, limits.MaxTimeout-time.Since(begun))
		if fail == nil {
			return nil
		}
		wait, again := p.mayRetry(w, fail, limits.MaxTimeout-time.Since(begun))
		if !again || ctx.Err() != nil {
			w.lost(fail)
			return fail
		}
		w.unanswered = fail.Delivery == failure.DeliveryUnknown
		p.Log.Warn("retry", "server", w.tool.Server, "tool", w.tool.Name,
			"attempt", w.attempts, "delayMs", wait.Milliseconds(), "errorClass", fail.Class.String())
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			w.lost(fail)
			return fail
		}
	}
}

// try makes one attempt. Starting the server has its own limit and is no part
// of the call's; left is what remains of max_timeout for everything else.
func (p *Pipeline) try(ctx context.Context, w *work, limits server.Limits, left time.Duration) *Failure {
	w.attempts++
	// Who would give up on silence after timeout does not wait longer for a start
	// that has not even begun.
	patience := min(limits.Timeout, left)
	if err := w.server.Ready(ctx, patience); err != nil {
		return wrap(err)
	}
	queued := time.Now()
	if err := w.server.Enter(ctx, left); err != nil {
		return wrap(err)
	}
	defer w.server.Leave()
	if waited := time.Since(queued); waited >= stale {
		left -= waited
		// It may have ended while others used it, or been stopped since.
		if err := w.server.Ready(ctx, min(patience, left)); err != nil {
			return wrap(err)
		}
	}
	dl := newDeadline(ctx, limits.Timeout, left)
	defer dl.stop()
	answer, err := w.server.Do(dl.ctx, &server.Request{
		Tool: w.tool, Arguments: w.req.Arguments, ID: w.id,
		OnProgress: func(done, total float64, message string) {
			dl.restart()
			if w.req.OnProgress != nil {
				w.req.OnProgress(Progress{Done: done, Total: total, Message: message})
			}
		},
	})
	if err != nil {
		return dl.explain(wrap(err))
	}
	if answer.Input != nil {
		f := refused(failure.ConsentRequired, "the tool asks for more input before it goes on, and this caller cannot be asked")
		f.Delivery, f.Origin = failure.Answered, failure.OriginUpstream
		return f
	}
	w.answer = answer
	return nil
}

// stale is how old a server's word that it runs may be.
const stale = time.Millisecond

// deadline ends an attempt that has been silent for too long, or has run for
// too long altogether. Progress restarts the first, never the second.
type deadline struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	total  *time.Timer
}

func newDeadline(parent context.Context, idle, total time.Duration) *deadline {
	d := &deadline{idle: idle}
	d.ctx, d.cancel = context.WithCancelCause(parent)
	d.timer = time.AfterFunc(idle, func() {
		d.cancel(&expired{fmt.Sprintf("no answer and no progress within %s (timeout)", idle)})
	})
	d.total = time.AfterFunc(total, func() {
		d.cancel(&expired{"no answer before the time for the whole call was up, retries and waits included (max_timeout)"})
	})
	return d
}

func (d *deadline) restart() { d.timer.Reset(d.idle) }

func (d *deadline) stop() {
	d.timer.Stop()
	d.total.Stop()
	d.cancel(nil)
}

// explain turns the cancellation that a deadline caused into the timeout it is.
// A failure that came by itself in the same instant stays.
func (d *deadline) explain(f *Failure) *Failure {
	e, ok := context.Cause(d.ctx).(*expired)
	if !ok || f.Class != failure.Canceled {
		return f
	}
	f.Class, f.Origin, f.Message = failure.Timeout, failure.OriginHost, e.reason
	return f
}

// expired is the cause of a context that a deadline ended.
type expired struct{ reason string }

func (e *expired) Error() string { return e.reason }

// newID is a call's id in log lines: random, so that ids of several hosts do not
// collide in one adapter's log.
func newID() string { return rand.Text()[:16] }
