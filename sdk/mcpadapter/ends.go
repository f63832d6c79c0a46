package mcpadapter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// A server that ends, or cannot be started, is left alone for a moment that
// doubles each time; whoever needs it meanwhile waits. The figures are the host's
// for adapter processes.
const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// steadyRun is how long a connection has to last before its end is a first one
	// again. A handshake is not enough: some servers end right after it, for ever.
	steadyRun = time.Minute
	// After manyEnds within endsWindow a use tries once in slowPace, and those
	// between fail at once with the reason of the last end.
	manyEnds   = 5
	endsWindow = 10 * time.Minute
	slowPace   = 30 * time.Second
)

// ends remembers when the upstream ended or could not be started, oldest first,
// and why last. It has no clock and no lock.
type ends struct {
	times  []time.Time
	streak int       // since a connection lasted for steadyRun
	next   time.Time // no attempt before
	why    *failure.Failure
}

// add takes note of an end after a connection that lasted so long, zero for a
// failed attempt.
func (e *ends) add(now time.Time, lasted time.Duration, why *failure.Failure) {
	e.times = append(e.times, now)
	if len(e.times) > manyEnds {
		e.times = slices.Delete(e.times, 0, len(e.times)-manyEnds)
	}
	if lasted >= steadyRun {
		e.streak = 0
	}
	e.streak++
	e.next = now.Add(backoff(e.streak))
	if e.tooMany(now) {
		e.next = now.Add(slowPace)
	}
	e.why = why
}

func (e *ends) tooMany(now time.Time) bool {
	return len(e.times) == manyEnds && now.Sub(e.times[0]) < endsWindow
}

// hold says how long an attempt has to wait, or why whoever wants it, until ctx
// ends, is not to wait for it.
func (e *ends) hold(ctx context.Context, now time.Time) (time.Duration, *failure.Failure) {
	wait := e.next.Sub(now)
	if wait <= 0 {
		return 0, nil
	}
	by, ends := ctx.Deadline()
	if !e.tooMany(now) && !(ends && by.Before(e.next)) {
		return wait, nil
	}
	f := *e.why
	f.Delivery, f.RetryAfter = failure.NotSent, wait
	f.Message += fmt.Sprintf("; not tried again for %s", wait.Round(time.Millisecond))
	if e.tooMany(now) {
		f.Message += fmt.Sprintf(", because it failed %d times within %s", manyEnds, e.times[manyEnds-1].Sub(e.times[0]).Round(time.Second))
	}
	return 0, &f
}

// backoff is the pause after so many ends in a row.
func backoff(streak int) time.Duration {
	d := firstBackoff
	for range streak - 1 {
		if d *= 2; d >= maxBackoff {
			return maxBackoff
		}
	}
	return d
}
