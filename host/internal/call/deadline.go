package call

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// deadline ends an attempt that has been silent for too long, or has run for
// too long altogether. Progress restarts the first, never the second. One timer is for
// both: most attempts end before it matters.
type deadline struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	total  time.Time // when the attempt's time is up

	mu     sync.Mutex
	timer  *time.Timer
	silent time.Time // when the silence has lasted too long
	mute   bool      // it is not the server that is waited for: no silence counts
	open   int       // questions; both times rest while there are any
	since  time.Time // when the first of them was asked
	rested time.Duration
	over   bool
}

func newDeadline(parent context.Context, idle, total time.Duration) *deadline {
	now := time.Now()
	d := &deadline{idle: idle, total: now.Add(total), silent: now.Add(idle)}
	d.ctx, d.cancel = context.WithCancelCause(parent)
	d.mu.Lock() // the timer may be the first
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(min(idle, total), d.expire)
	return d
}

// expire ends the attempt if one of its times is up, and else waits for the next.
func (d *deadline) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	switch next := d.next(); {
	case d.over, d.open > 0: // the end of the question sets the timer again
	case now.Before(next):
		d.timer.Reset(next.Sub(now))
	case next.Equal(d.total):
		d.cancel(&expired{outOfTime})
	default:
		d.cancel(&expired{fmt.Sprintf("no answer and no progress within %s (timeout)", d.idle)})
	}
}

// next is when the attempt ends at the latest. The caller holds mu.
func (d *deadline) next() time.Time {
	if !d.mute && d.silent.Before(d.total) {
		return d.silent
	}
	return d.total
}

func (d *deadline) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent = time.Now().Add(d.idle) // which the timer finds out
}

// reporting is what takes the progress of the attempt: it restarts the deadline,
// and tells to, which may be nil.
func (d *deadline) reporting(to func(Progress)) func(done, total float64, message string) {
	return func(done, total float64, message string) {
		d.restart()
		if to != nil {
			to(Progress{Done: done, Total: total, Message: message})
		}
	}
}

// asking returns ask with the deadline suspended while it runs; nil stays nil. What a
// person may take for it has a limit of its own.
func (d *deadline) asking(ask Asker) server.Asker {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		d.rest()
		defer d.resume()
		ctx, cancel := context.WithTimeout(ctx, d.patience())
		defer cancel()
		return ask(ctx, method, params)
	}
}

// admitting returns admit with the server's silence not counting while it waits; nil
// stays nil. What it waits for is other results of the caller, of which the server knows
// nothing.
func (d *deadline) admitting(admit func(context.Context, int) (func(), error)) func(context.Context, int) (func(), error) {
	if admit == nil {
		return nil
	}
	return func(ctx context.Context, bytes int) (func(), error) {
		d.setMute(true)
		defer d.setMute(false)
		return admit(ctx, bytes)
	}
}

func (d *deadline) setMute(mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.mute, d.silent = mute, now.Add(d.idle)
	if !d.over && d.open == 0 {
		d.timer.Reset(d.next().Sub(now))
	}
}

func (d *deadline) rest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open++; d.open == 1 {
		d.since = time.Now()
	}
}

func (d *deadline) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open--; d.open > 0 {
		return
	}
	now := time.Now()
	d.rested += now.Sub(d.since)
	d.total, d.silent = d.total.Add(now.Sub(d.since)), now.Add(d.idle)
	if !d.over {
		d.timer.Reset(d.next().Sub(now))
	}
}

// patience is how long a question may stay open.
func (d *deadline) patience() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.total.Sub(d.since)
	return min(max(questionWait, left), maxRest+left-d.rested-time.Since(d.since))
}

// spent is for how long questions were open, which is no part of the call's times.
func (d *deadline) spent() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rested
}

func (d *deadline) stop() {
	d.mu.Lock()
	d.over = true
	d.timer.Stop()
	d.mu.Unlock()
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

// questionWait is how long a question of the server may stay open at least, as one for
// consent may: a person fills in a form. Where max_timeout leaves longer, that counts.
const questionWait = consentWait

// maxRest bounds how long the questions of one attempt may be open in all, besides what
// max_timeout leaves: a server that asks again and again, and is not answered, would hold
// its place for ever. It is as long as questions in place of a result can take.
const maxRest = maxRounds * questionWait

const outOfTime = "no answer before the time for the whole call was up, retries and waits included (max_timeout)"

// expired is the cause of a context that a deadline ended.
type expired struct{ reason string }

func (e *expired) Error() string { return e.reason }
