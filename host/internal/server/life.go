package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// State is where a server is in its life.
type State string

// The states. A server that is idle or failed starts when something needs it.
const (
	Idle       State = "idle"        // never started, or stopped for lack of use
	Starting   State = "starting"    // spawn to first list of tools
	Ready      State = "ready"       //
	Degraded   State = "degraded"    // the adapter runs but says its upstream is in trouble
	BackingOff State = "backing-off" // it ended by itself, and starts again by itself in a moment
	Failed     State = "failed"      // the last start failed, or it ended too often; only use starts it again
	Stopped    State = "stopped"     // closed for good
)

// event is something that changes a server's state.
type event int

// The events. One that means nothing in a state changes nothing.
const (
	begun       event = iota // a start begins; hold has allowed it
	cameUp                   // the start succeeded
	startFailed              // the start failed, with a reason
	recovered                // the adapter says that calls can succeed
	troubled                 // the adapter says that they cannot for now, perhaps with a reason
	ended                    // the process ended by itself, however it words that
	unused                   // it is being stopped for lack of use
	renewed                  // its settings changed: what happened before says nothing any more
	closed                   // for good
)

const (
	// A server that ends, or cannot be started, is left alone for a moment that
	// doubles each time.
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// steadyRun is how long it has to serve before its end is a first one again. A
	// handshake is not enough: some servers end right after it, for ever.
	steadyRun = time.Minute
	// After manyEnds within endsWindow nothing starts it by itself, and use does so
	// at most once in slowPace.
	manyEnds   = 5
	endsWindow = 10 * time.Minute
	slowPace   = 30 * time.Second
)

// life is the state machine of one server: what an event makes of it, and when
// it may be started. It is pure: it has no clock, no lock and no process.
type life struct {
	state State
	why   *Failure // when degraded, backing-off or failed

	since  time.Time   // when it last came up
	streak int         // ends and failed starts since it last served for steadyRun
	ends   []time.Time // the newest manyEnds of them, oldest first
	next   time.Time   // no start before
	keep   bool        // it has served, and was not stopped on purpose: it should be up
}

// on applies an event and reports whether the state or its reason is another.
func (l *life) on(ev event, why *Failure, now time.Time) bool {
	state, reason := l.state, l.why
	serving := state == Ready || state == Degraded
	switch {
	case state == Stopped:
	case ev == closed:
		*l = life{state: Stopped}
	case ev == renewed:
		*l = life{state: Idle}
	case ev == begun && !serving && state != Starting:
		l.state, l.why = Starting, nil
	case ev == cameUp && state == Starting:
		l.state, l.since, l.keep = Ready, now, true
	case ev == startFailed && state == Starting:
		l.end(why, now)
	case ev == ended && serving:
		l.steady(now)
		l.end(why, now)
	case ev == recovered && state == Degraded:
		l.state, l.why = Ready, nil
	case ev == troubled && serving:
		l.state, l.why = Degraded, why
	case ev == unused && serving:
		l.steady(now)
		l.state, l.why, l.keep = Idle, nil, false
	}
	return l.state != state || l.why != reason
}

// steady forgets earlier ends when the run that is over was a good one.
func (l *life) steady(now time.Time) {
	if now.Sub(l.since) >= steadyRun {
		l.streak = 0
	}
}

// end takes note of an end or a failed start, and decides what follows.
func (l *life) end(why *Failure, now time.Time) {
	if n := len(l.ends); n > 0 && now.Sub(l.ends[n-1]) >= endsWindow {
		l.streak = 0 // it has been left alone for long
	}
	l.ends = append(l.ends, now)
	if len(l.ends) > manyEnds {
		l.ends = slices.Delete(l.ends, 0, len(l.ends)-manyEnds)
	}
	l.streak++
	l.next = now.Add(backoff(l.streak))
	if l.tooMany(now) {
		l.next = now.Add(slowPace)
	}
	l.state, l.why = Failed, why
	// A start that broke on mcp.toml breaks again until a person changed it.
	if l.keep = l.keep && !l.tooMany(now) && !why.Misconfigured; l.keep {
		l.state = BackingOff
	}
}

// tooMany reports whether it ended too often lately to be started by itself.
func (l *life) tooMany(now time.Time) bool {
	return len(l.ends) == manyEnds && now.Sub(l.ends[0]) < endsWindow
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

// hold says how long a start has to wait. With refuse, whoever wants one is not
// to wait for it but gets the failure there is.
func (l *life) hold(now time.Time) (wait time.Duration, refuse bool) {
	if wait = l.next.Sub(now); wait <= 0 {
		return 0, false
	}
	return wait, l.tooMany(now)
}

// postponed is the failure of whoever cannot wait for the next start: that of
// the last one, and when the next will be.
func (l *life) postponed(now time.Time) *Failure {
	wait := l.next.Sub(now)
	f := *l.why
	f.Delivery, f.RetryAfter, f.Postponed = failure.NotSent, wait, true
	f.Message += fmt.Sprintf("; not tried again before %s (in %s)", l.next.Format(time.TimeOnly), brief(wait))
	if l.tooMany(now) {
		f.Message += fmt.Sprintf(", because it failed %d times within %s", manyEnds, brief(l.ends[manyEnds-1].Sub(l.ends[0])))
	}
	return &f
}

// brief is a duration to the second, and to the millisecond below one.
func brief(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
