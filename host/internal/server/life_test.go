package server

import (
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/restart"
	"github.com/collet-dev/collet/sdk/failure"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func broken() *Failure { return notSent(failure.ConnectionRefused, "it broke") }

// in returns a life that came to a state by nothing but events.
func in(t *testing.T, state State) *life {
	t.Helper()
	l := &life{state: Idle}
	path := map[State][]event{
		Idle:       {},
		Starting:   {begun},
		Ready:      {begun, cameUp},
		Degraded:   {begun, cameUp, troubled},
		BackingOff: {begun, cameUp, ended},
		Failed:     {begun, startFailed},
		Stopped:    {closed},
	}
	for _, ev := range path[state] {
		l.on(ev, broken(), noon)
	}
	if l.state != state {
		t.Fatalf("%v leads to %s, not %s", path[state], l.state, state)
	}
	return l
}

// What every event makes of every state. "." stands for no change at all.
func TestLife(t *testing.T) {
	events := []event{begun, cameUp, startFailed, recovered, troubled, ended, unused, renewed, closed}
	for state, row := range map[State][9]State{
		//           begun     cameUp  startFailed recovered troubled  ended       unused  renewed  closed
		Idle:       {Starting, ".", ".", ".", ".", ".", ".", ".", Stopped},
		Starting:   {".", Ready, Failed, ".", ".", ".", ".", Idle, Stopped},
		Ready:      {".", ".", ".", ".", Degraded, BackingOff, Idle, Idle, Stopped},
		Degraded:   {".", ".", ".", Ready, Degraded, BackingOff, Idle, Idle, Stopped},
		BackingOff: {Starting, ".", ".", ".", ".", ".", ".", Idle, Stopped},
		Failed:     {Starting, ".", ".", ".", ".", ".", ".", Idle, Stopped},
		Stopped:    {".", ".", ".", ".", ".", ".", ".", ".", "."},
	} {
		for i, ev := range events {
			l, why := in(t, state), broken()
			before := *l
			want, changed := row[i], true
			if want == "." {
				want, changed = state, false
			}
			if got := l.on(ev, why, noon.Add(time.Second)); got != changed || l.state != want {
				t.Errorf("%s, event %d: %s, changed %v; want %s, %v", state, ev, l.state, got, want, changed)
			}
			if !changed && (l.why != before.why || l.pacing.Wait(noon) != before.pacing.Wait(noon) || l.pacing.Ends() != before.pacing.Ends()) {
				t.Errorf("%s, event %d: something is remembered of what means nothing", state, ev)
			}
			if reason := want == Degraded || want == BackingOff || want == Failed; (l.why != nil) != reason {
				t.Errorf("%s, event %d: the reason is %v", state, ev, l.why)
			}
			if changed && (ev == troubled || ev == ended || ev == startFailed) && l.why != why {
				t.Errorf("%s, event %d: the reason is an older one", state, ev)
			}
		}
	}
}

// A server that should be up is started again after pauses that double, until it
// has ended too often; a good run is forgotten about, a handshake is not.
func TestEndsInARow(t *testing.T) {
	for name, c := range map[string]struct {
		run  time.Duration // how long it serves each time
		want string        // state and pause after each end
	}{
		"right after the handshake": {0, "backing-off 250ms, backing-off 500ms, backing-off 1s, backing-off 2s, failed 30s, failed 30s"},
		"just not steady":           {restart.SteadyRun - 1, "backing-off 250ms, backing-off 500ms, backing-off 1s, backing-off 2s, failed 30s, failed 30s"},
		"steady":                    {restart.SteadyRun, "backing-off 250ms, backing-off 250ms, backing-off 250ms, backing-off 250ms, failed 30s, failed 30s"},
		"seldom":                    {restart.EndsWindow / 4, "backing-off 250ms, backing-off 250ms, backing-off 250ms, backing-off 250ms, backing-off 250ms, backing-off 250ms"},
	} {
		l, now := &life{state: Idle}, noon
		var got []string
		for range 6 {
			if wait, _ := l.hold(now); wait > 0 {
				t.Fatalf("%s: a start would wait for %s", name, wait)
			}
			l.on(begun, nil, now)
			l.on(cameUp, nil, now)
			now = now.Add(c.run)
			l.on(ended, broken(), now)
			wait, refuse := l.hold(now)
			if refuse != (l.state == Failed) {
				t.Errorf("%s: %s, and a start is refused: %v", name, l.state, refuse)
			}
			got = append(got, string(l.state)+" "+wait.String())
			now = now.Add(wait)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s:\n %s\nwant\n %s", name, text, c.want)
		}
	}
}

// Starts that fail are never repeated by themselves when nothing had served
// before; after a run they are, as long as ends are.
func TestStartsThatFail(t *testing.T) {
	fail := func(l *life, n int) (got []string) {
		now := noon
		for range n {
			now = now.Add(l.pacing.Wait(now))
			l.on(begun, nil, now)
			now = now.Add(2*time.Minute + 35*time.Second) // so slow that they are never too many
			l.on(startFailed, broken(), now)
			got = append(got, string(l.state)+" "+l.pacing.Wait(now).String())
		}
		return got
	}
	want := "failed 250ms, failed 500ms, failed 1s, failed 2s, failed 4s, failed 8s, failed 16s, failed 30s, failed 30s"
	if got := strings.Join(fail(&life{state: Idle}, 9), ", "); got != want {
		t.Errorf("%s", got)
	}
	l := in(t, BackingOff)
	if got := strings.Join(fail(l, 2), ", "); got != "backing-off 500ms, backing-off 1s" {
		t.Errorf("after a run: %s", got)
	}
	l = in(t, BackingOff)
	l.on(begun, nil, noon)
	why := broken()
	why.Misconfigured = true
	if l.on(startFailed, why, noon); l.state != Failed {
		t.Errorf("broken settings: %s", l.state)
	}
}

// New settings and a stop for lack of use are no reason to wait for anything.
func TestWhatIsForgiven(t *testing.T) {
	for state, ev := range map[State]event{Failed: renewed, BackingOff: renewed, Ready: unused} {
		l := in(t, state)
		l.on(ev, nil, noon)
		if wait, _ := l.hold(noon); wait > 0 || l.keep {
			t.Errorf("%s: a start waits for %s; it should be up: %v", state, wait, l.keep)
		}
	}
}

func TestPostponed(t *testing.T) {
	l := in(t, Failed)
	l.why.Delivery = failure.DeliveryUnknown
	f := l.postponed(noon.Add(100 * time.Millisecond))
	if f == l.why || !f.Postponed || f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent || f.RetryAfter != 150*time.Millisecond {
		t.Errorf("%+v", f)
	}
	if f.Message != "it broke; not tried again before 12:00:00 (in 150ms)" || l.why.Message != "it broke" {
		t.Errorf("%q", f.Message)
	}
	for range restart.ManyEnds {
		l.on(begun, nil, noon)
		l.on(startFailed, broken(), noon)
	}
	if f := l.postponed(noon.Add(10 * time.Second)); !strings.HasSuffix(f.Message, "before 12:00:30 (in 20s), because it failed 5 times within 0s") {
		t.Errorf("%q", f.Message)
	}
}
