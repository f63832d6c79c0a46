package server

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

func (q *queue) counts() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, len(q.waiting)
}

func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		q.resize(2)
		var entered atomic.Int32
		begun := time.Now()
		for i := range 10 {
			go func() {
				if f := q.enter(t.Context(), time.Hour); f != nil {
					t.Error(f)
					return
				}
				entered.Add(1)
				if want := time.Duration(i/2) * time.Second; time.Since(begun) != want {
					t.Errorf("%d entered after %v", i, time.Since(begun))
				}
				time.Sleep(time.Second)
				q.leave()
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if n := entered.Load(); n != 10 {
			t.Errorf("%d entered", n)
		}
		if running, waiting := q.counts(); running != 0 || waiting != 0 {
			t.Errorf("%d run and %d wait", running, waiting)
		}
	})
}

func TestQueueGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		q.resize(1)
		if f := q.enter(t.Context(), 0); f != nil {
			t.Fatal(f)
		}
		begun := time.Now()
		f := q.enter(t.Context(), 3*time.Second)
		if f == nil || f.Class != failure.Timeout || f.Delivery != failure.NotSent || time.Since(begun) != 3*time.Second || !strings.Contains(f.Message, "max_concurrent") {
			t.Errorf("after %v: %+v", time.Since(begun), f)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if f := q.enter(ctx, time.Hour); f == nil || f.Class != failure.Canceled || f.Delivery != failure.NotSent {
			t.Errorf("%+v", f)
		}
		// Who gave up is not waited for.
		q.leave()
		if f := q.enter(t.Context(), 0); f != nil {
			t.Error(f)
		}
	})
}

// A turn that comes in the instant in which its owner gives up goes to the next.
func TestQueueLosesNoTurn(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			var q queue
			q.resize(1)
			_ = q.enter(t.Context(), 0)
			go func() {
				synctest.Wait() // its time runs already
				time.Sleep(time.Second)
				q.leave()
			}()
			if q.enter(t.Context(), time.Second) == nil {
				q.leave()
			}
			synctest.Wait()
			if running, waiting := q.counts(); running != 0 || waiting != 0 {
				t.Fatalf("%d run and %d wait", running, waiting)
			}
		})
	}
}

// Another limit counts at once for those who wait, and those who are in already
// count toward it.
func TestQueueChangesItsLimit(t *testing.T) {
	for _, c := range []struct{ before, after, enter int }{{1, 3, 2}, {1, 0, 5}, {3, 1, 0}, {3, 3, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var q queue
			q.resize(c.before)
			for range c.before {
				_ = q.enter(t.Context(), 0)
			}
			var entered atomic.Int32
			for range 5 {
				go func() {
					if q.enter(t.Context(), time.Second) == nil {
						entered.Add(1)
					}
				}()
			}
			synctest.Wait()
			q.resize(c.after)
			synctest.Wait()
			if running, _ := q.counts(); int(entered.Load()) != c.enter || running != c.before+c.enter {
				t.Errorf("from %d to %d: %d entered, %d run", c.before, c.after, entered.Load(), running)
			}
			time.Sleep(2 * time.Second)
		})
	}
	var q queue
	for range 3 {
		_ = q.enter(t.Context(), 0)
	}
	q.resize(2)
	q.leave()
	if f := q.enter(t.Context(), time.Millisecond); f == nil {
		t.Error("three at once under a limit of two")
	}
}

func TestNoLimitCostsNothing(t *testing.T) {
	var q queue
	if n := testing.AllocsPerRun(100, func() {
		_ = q.enter(t.Context(), time.Second)
		q.leave()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
