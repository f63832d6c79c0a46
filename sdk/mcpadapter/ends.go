package mcpadapter

import (
	"slices"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// A server that keeps ending is not started with every call: after manyEnds
// within endsWindow a call tries once in slowPace, and those between fail with
// the reason of the last end. The figures are the host's for adapter processes.
const (
	manyEnds   = 5
	endsWindow = 10 * time.Minute
	slowPace   = 30 * time.Second
)

// ends remembers when the upstream ended or could not be reached, oldest first,
// and why last.
type ends struct {
	times []time.Time
	why   *failure.Failure
}

func (e *ends) add(now time.Time, why *failure.Failure) {
	e.times = append(e.times, now)
	if len(e.times) > manyEnds {
		e.times = slices.Delete(e.times, 0, len(e.times)-manyEnds)
	}
	e.why = why
}

// refuse returns why the upstream is left alone for now, or nil.
func (e *ends) refuse(now time.Time) *failure.Failure {
	if len(e.times) < manyEnds || now.Sub(e.times[0]) >= endsWindow {
		return nil
	}
	wait := slowPace - now.Sub(e.times[len(e.times)-1])
	if wait <= 0 {
		return nil
	}
	f := *e.why
	f.Delivery = failure.NotSent
	f.RetryAfter = wait
	return &f
}
