package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/restart"
	"github.com/collet-dev/collet/sdk/failure"
)

func TestStartsAgainByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{})
		v.must(t)
		v.crash()
		if st := v.Status(); st.State != BackingOff || st.Pid != 0 || !strings.Contains(st.Failure.Message, "exit status 0") {
			t.Errorf("%+v", st)
		}
		time.Sleep(restart.FirstPause + v.took)
		synctest.Wait()
		if got := v.st.list(); got != "starting ready backing-off starting ready" {
			t.Errorf("states: %s", got)
		}
		if want := []time.Duration{0, v.took + restart.FirstPause}; !slices.Equal(v.times, want) {
			t.Errorf("starts at %v", v.times)
		}
	})
}

// A server that ends right after the handshake, and cleanly, is no reason to
// start it for ever; nor are calls to it.
func TestNoStormOfStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{})
		v.took = 0
		ctx, cancel := context.WithCancel(t.Context())
		var killer sync.WaitGroup
		defer killer.Wait()
		defer cancel()
		killer.Go(func() {
			for ctx.Err() == nil {
				v.mu.Lock()
				p := v.running
				v.mu.Unlock()
				if p != nil {
					p.crash()
				}
				time.Sleep(time.Millisecond)
			}
		})
		v.must(t)
		time.Sleep(time.Hour)
		if v.starts() != restart.ManyEnds || v.Status().State != Failed {
			t.Errorf("%d starts, %s", v.starts(), v.Status().State)
		}
		// An hour is long enough to try in earnest again.
		_ = v.Ready(t.Context(), 0)
		time.Sleep(20 * time.Second)
		if n := v.starts(); n != 2*restart.ManyEnds {
			t.Errorf("%d starts", n)
		}
		// From now on calls are turned away at once, but for one in 30 s.
		begun := time.Now()
		for range 600 {
			if err := v.Ready(t.Context(), 0); err != nil {
				f := AsFailure(err)
				if !f.Postponed || f.Delivery != failure.NotSent || f.RetryAfter <= 0 || f.RetryAfter > restart.SlowPause || !strings.Contains(f.Message, "exit status 0") {
					t.Fatalf("%+v", f)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begun); took > 61*time.Second {
			t.Errorf("turned away after %v", took)
		}
		if n := v.starts(); n != 2*restart.ManyEnds+2 {
			t.Errorf("%d starts", n)
		}
	})
}

// What never served is not started by itself: nobody may want it any more.
func TestAFailedFirstStartIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{})
		v.fail = broken
		if err := v.Ready(t.Context(), 0); err == nil {
			t.Fatal("it started")
		}
		time.Sleep(time.Hour)
		if v.starts() != 1 || v.Status().State != Failed {
			t.Errorf("%d starts, %s", v.starts(), v.Status().State)
		}
		v.fail = nil
		begun := time.Now()
		v.must(t)
		if took := time.Since(begun); took != v.took {
			t.Errorf("took %v", took)
		}
	})
}

func TestCallsDuringABackoff(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience time.Duration
		deadline time.Duration
		waits    bool
	}{
		{"as long as it takes", 0, 0, true},
		{"long enough", 151 * time.Millisecond, 0, true},
		{"patience is shorter", 149 * time.Millisecond, 0, false},
		{"the deadline is earlier", 0, 149 * time.Millisecond, false},
		{"the deadline is later", 0, 2 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := supervise(t, &config.Server{})
			v.must(t)
			v.crash()
			time.Sleep(100 * time.Millisecond)
			ctx := t.Context()
			if c.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			begun := time.Now()
			err := v.Ready(ctx, c.patience)
			took := time.Since(begun)
			if c.waits {
				if err != nil || took != 150*time.Millisecond+v.took {
					t.Errorf("%s: after %v: %v", c.name, took, err)
				}
				return
			}
			if f := AsFailure(err); err == nil || took != 0 || !f.Postponed || f.RetryAfter != 150*time.Millisecond {
				t.Errorf("%s: after %v: %+v", c.name, took, f)
			}
		})
	}
}

func TestABackoffIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{})
		v.must(t)
		v.crash()
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				if err := v.Ready(t.Context(), 0); err != nil {
					t.Error(err)
				}
			})
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if f := AsFailure(v.Ready(gone, 0)); f.Class != failure.Canceled || f.Delivery != failure.NotSent {
			t.Errorf("%+v", f)
		}
		wg.Wait()
		if v.starts() != 2 {
			t.Errorf("%d starts", v.starts())
		}
	})
}

func TestCloseDuringABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{})
		v.must(t)
		v.crash()
		ended := make(chan error, 1)
		go func() { ended <- v.Ready(context.Background(), 0) }()
		synctest.Wait()
		begun := time.Now()
		if err := v.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if f := AsFailure(<-ended); f.Class != failure.Canceled || time.Since(begun) != 0 {
			t.Errorf("after %v: %+v", time.Since(begun), f)
		}
	})
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{IdleTimeout: time.Minute})
		v.stuck = time.Second
		v.must(t)
		time.Sleep(50 * time.Second)
		if err := v.call("answer"); err != nil { // for 3 s
			t.Error(err)
		}
		time.Sleep(time.Minute - 1)
		if st := v.Status(); st.State != Ready {
			t.Errorf("unused for less than its time: %s", st.State)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if st := v.Status(); st.State != Idle || st.Pid != 0 || st.Failure != nil {
			t.Errorf("%+v", st)
		}
		tools, listed := v.Tools()
		if len(tools) != 1 || !listed {
			t.Errorf("tools %v %v", tools, listed)
		}
		if err := v.List(t.Context()); err != nil || v.starts() != 1 {
			t.Errorf("a list started it: %v", err)
		}
		if f := AsFailure(v.call("answer")); f.Delivery != failure.NotSent {
			t.Errorf("%+v", f)
		}
		// Its next start waits for the end of the process, and for nothing else.
		begun := time.Now()
		v.must(t)
		if took := time.Since(begun); took != v.stuck+v.took {
			t.Errorf("started again after %v", took)
		}
		if got := v.st.list(); got != "starting ready idle starting ready" {
			t.Errorf("states: %s", got)
		}
	})
}

// A call that runs for longer than idle_timeout is a use all the time.
func TestIdleTimeoutWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{IdleTimeout: time.Second})
		v.must(t)
		if err := v.call("answer"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if st := v.Status(); st.State != Idle {
			t.Errorf("%+v", st)
		}
	})
}

// A server that stops, however long that takes, blocks nobody but its own next
// start.
func TestSettingsThatMeanAnotherProcess(t *testing.T) {
	for _, c := range []struct {
		call  string
		after time.Duration // the new process is there
		ends  string        // how the call does
	}{
		{"", time.Second, ""},
		{"answer", 3*time.Second + time.Second, ""},
		{"hang", drainWait + time.Second, "its settings changed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := supervise(t, &config.Server{Command: "a", IdleTimeout: time.Hour})
			v.must(t)
			ended := make(chan error, 1)
			if c.call == "" {
				ended <- nil
			} else {
				go func() { ended <- v.call(c.call) }()
				synctest.Wait()
			}
			begun := time.Now()
			v.Apply(&config.Server{Name: "s", Command: "b"})
			if time.Since(begun) != 0 {
				t.Error("Apply waits")
			}
			if _, listed := v.Tools(); listed {
				t.Error("the old tools count for the new settings")
			}
			v.must(t)
			if took := time.Since(begun); took != c.after {
				t.Errorf("%q: the new process is there after %v", c.call, took)
			}
			if err := <-ended; (err == nil) != (c.ends == "") || err != nil && !strings.Contains(err.Error(), c.ends) {
				t.Errorf("%q: the call ended with %v", c.call, err)
			}
			if n := len(v.launched); n != 2 || v.launched[1].Command != "b" {
				t.Errorf("%q: %d starts", c.call, n)
			}
			if got := v.st.list(); got != "starting ready idle starting ready" {
				t.Errorf("%q: states: %s", c.call, got)
			}
		})
	}
}

func TestSettingsThatChangeInOtherStates(t *testing.T) {
	for state, want := range map[State]string{
		Idle:       "1 starts, ready", // on demand: by the Ready at the end
		Starting:   "2 starts, ready",
		BackingOff: "2 starts, ready",
		Failed:     "2 starts, ready",
	} {
		synctest.Test(t, func(t *testing.T) {
			v := supervise(t, &config.Server{Command: "a"})
			switch state {
			case Starting:
				go func() {
					if err := v.Ready(t.Context(), 0); err != nil {
						t.Error("who waited for the start:", err)
					}
				}()
				time.Sleep(v.took / 2)
			case BackingOff:
				v.must(t)
				v.crash()
			case Failed:
				v.fail = broken
				_ = v.Ready(t.Context(), 0)
				v.fail = nil
			}
			if st := v.Status(); st.State != state {
				t.Fatalf("%s, not %s", st.State, state)
			}
			v.Apply(&config.Server{Name: "s", Command: "b"})
			begun, at := time.Now(), v.starts()
			synctest.Wait()
			if now := v.Status().State; now == Starting != (state == Starting || state == BackingOff) {
				t.Errorf("%s, then %s", state, now)
			}
			v.must(t)
			if took := time.Since(begun); took != v.took {
				t.Errorf("%s: ready after %v", state, took)
			}
			if got := fmt.Sprintf("%d starts, %s", v.starts(), v.Status().State); got != want || v.launched[at].Command != "b" {
				t.Errorf("%s: %s with %s", state, got, v.launched[at].Command)
			}
		})
	}
}

func TestSettingsThatRestartNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{Command: "a"})
		v.must(t)
		ended := make(chan error, 1)
		go func() { ended <- v.call("answer") }()
		synctest.Wait()
		v.Apply(&config.Server{Name: "s", Command: "a", Timeout: time.Second, IdleTimeout: 10 * time.Second})
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := v.st.list(); got != "starting ready" || v.Settings().Timeout != time.Second {
			t.Errorf("states: %s", got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if st := v.Status(); st.State != Idle {
			t.Errorf("a new idle_timeout has no effect: %s", st.State)
		}
	})
}

// A start that needs more time may have it at once.
func TestMoreTimeForAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{StartTimeout: time.Second})
		v.fail = broken
		for range restart.ManyEnds {
			_ = v.Ready(t.Context(), 0)
		}
		v.fail = nil
		if f := AsFailure(v.Ready(t.Context(), 0)); !f.Postponed {
			t.Errorf("%+v", f)
		}
		v.Apply(&config.Server{Name: "s", StartTimeout: time.Minute})
		v.must(t)
	})
}

// A list that cannot be had again keeps the old one, and whoever asked for it is
// told.
func TestARefreshThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{IdleTimeout: time.Minute})
		v.must(t)
		v.running.lists = func(context.Context) error { return errors.New("no list today") }
		if err := v.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "no list today") {
			t.Errorf("%v", err)
		}
		if tools, listed := v.Tools(); len(tools) != 1 || tools[0].Name != "echo" || !listed {
			t.Errorf("%v %v", tools, listed)
		}
		if _, gone := v.Withdrawn("echo"); gone {
			t.Error("withdrawn by a failure")
		}
		v.running.lists = func(context.Context) error { return nil }
		if err := v.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		if w, gone := v.Withdrawn("echo"); !gone || w.Tool.Name != "echo" || !w.At.Equal(time.Now()) {
			t.Errorf("%+v %v", w, gone)
		}
	})
}

// A list that an adapter never gives holds up neither a stop nor other settings.
func TestAListThatHangsHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{Command: "a"})
		v.must(t)
		v.running.lists = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		v.run.changed <- struct{}{}
		synctest.Wait()
		begun := time.Now()
		v.Apply(&config.Server{Name: "s", Command: "b"})
		v.must(t)
		if took := time.Since(begun); took != v.took {
			t.Errorf("the new process is there after %v", took)
		}
	})
}
