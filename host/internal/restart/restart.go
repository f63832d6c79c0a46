// Package restart says when a process that ended by itself may be started again: after
// pauses that double, and seldom when it ends again and again. It starts nothing and
// has no clock.
package restart

import (
	"fmt"
	"slices"
	"time"
)

const (
	// FirstPause is how long a process that ended, or could not be started, is left
	// alone. It doubles each time, up to MostPause.
	FirstPause = 250 * time.Millisecond
	MostPause  = 30 * time.Second
	// SteadyRun is how long it has to serve before its end is a first one again. A
	// handshake is not enough: some processes end right after it, for ever.
	SteadyRun = time.Minute
	// After ManyEnds within EndsWindow nothing starts it by itself, and use does so at
	// most once in SlowPause.
	ManyEnds   = 5
	EndsWindow = 10 * time.Minute
	SlowPause  = 30 * time.Second
)

// Pacing is the ends of one process as far as they count. Its zero value has none. It
// is not safe for concurrent use.
type Pacing struct {
	streak int         // ends and failed starts since it last served for SteadyRun
	ends   []time.Time // the newest ManyEnds of them, oldest first
	next   time.Time
}

// Served takes note of a run that is over, and forgets earlier ends when it was a good
// one.
func (p *Pacing) Served(run time.Duration) {
	if run >= SteadyRun {
		p.streak = 0
	}
}

// Ended takes note of an end or a failed start.
func (p *Pacing) Ended(now time.Time) {
	if n := len(p.ends); n > 0 && now.Sub(p.ends[n-1]) >= EndsWindow {
		p.streak = 0 // it has been left alone for long
	}
	p.ends = append(p.ends, now)
	if len(p.ends) > ManyEnds {
		p.ends = slices.Delete(p.ends, 0, len(p.ends)-ManyEnds)
	}
	p.streak++
	p.next = now.Add(pause(p.streak))
	if p.TooMany(now) {
		p.next = now.Add(SlowPause)
	}
}

// TooMany reports whether it ended too often lately to be started by itself.
func (p *Pacing) TooMany(now time.Time) bool {
	return len(p.ends) == ManyEnds && now.Sub(p.ends[0]) < EndsWindow
}

// Wait is how long a start has to wait, 0 not at all.
func (p *Pacing) Wait(now time.Time) time.Duration { return max(p.next.Sub(now), 0) }

// Postponed says for a person when the next start may be, and why not sooner. It is
// empty when that is now.
func (p *Pacing) Postponed(now time.Time) string {
	wait := p.Wait(now)
	if wait == 0 {
		return ""
	}
	text := fmt.Sprintf("not tried again before %s (in %s)", p.next.Format(time.TimeOnly), brief(wait))
	if p.TooMany(now) {
		text += fmt.Sprintf(", because it failed %d times within %s", ManyEnds, brief(p.ends[ManyEnds-1].Sub(p.ends[0])))
	}
	return text
}

// Ends is how many ends are remembered.
func (p *Pacing) Ends() int { return len(p.ends) }

// pause is the pause after so many ends in a row.
func pause(streak int) time.Duration {
	d := FirstPause
	for range streak - 1 {
		if d *= 2; d >= MostPause {
			return MostPause
		}
	}
	return d
}

// brief is a duration to the second, and to the millisecond below one.
func brief(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
