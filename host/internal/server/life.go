package server

import (
	"time"

	"github.com/collet-dev/collet/host/internal/restart"
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

// life is the state machine of one server: what an event makes of it, and when
// it may be started. It is pure: it has no clock, no lock and no process.
type life struct {
	state State
	why   *Failure // when degraded, backing-off or failed

	since  time.Time      // when it last came up
	pacing restart.Pacing // of its starts
	keep   bool           // it has served, and was not stopped on purpose: it should be up
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
		l.pacing.Served(now.Sub(l.since))
		l.end(why, now)
	case ev == recovered && state == Degraded:
		l.state, l.why = Ready, nil
	case ev == troubled && serving:
		l.state, l.why = Degraded, why
	case ev == unused && serving:
		l.pacing.Served(now.Sub(l.since))
		l.state, l.why, l.keep = Idle, nil, false
	}
	return l.state != state || l.why != reason
}

// end takes note of an end or a failed start, and decides what follows.
func (l *life) end(why *Failure, now time.Time) {
	l.pacing.Ended(now)
	l.state, l.why = Failed, why
	// A start that broke on mcp.toml breaks again until a person changed it.
	if l.keep = l.keep && !l.pacing.TooMany(now) && !why.Misconfigured; l.keep {
		l.state = BackingOff
	}
}

// hold says how long a start has to wait. With refuse, whoever wants one is not
// to wait for it but gets the failure there is.
func (l *life) hold(now time.Time) (wait time.Duration, refuse bool) {
	if wait = l.pacing.Wait(now); wait == 0 {
		return 0, false
	}
	return wait, l.pacing.TooMany(now)
}

// postponed is the failure of whoever cannot wait for the next start: that of
// the last one, and when the next will be.
func (l *life) postponed(now time.Time) *Failure {
	f := *l.why
	f.Delivery, f.RetryAfter, f.Postponed = failure.NotSent, l.pacing.Wait(now), true
	if when := l.pacing.Postponed(now); when != "" {
		f.Message += "; " + when
	}
	return &f
}
