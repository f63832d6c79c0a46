package adapter

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is given back once after calls have stopped, and never during one.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var released atomic.Int64
		r := newRest(func() { released.Add(1) })
		after := func(d time.Duration, want int64, when string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := released.Load(); got != want {
				t.Errorf("%s: released %d times, want %d", when, got, want)
			}
		}
		after(restAfter, 1, "after the start")
		after(time.Hour, 1, "with nothing to do")
		r.begin()
		after(time.Hour, 1, "during a call")
		r.begin()
		r.end()
		after(time.Hour, 1, "after one of two calls")
		r.end()
		after(restAfter-1, 1, "just after a call")
		r.begin()
		r.end()
		after(restAfter-1, 1, "just after the next call")
		after(1, 2, "a while after it")
		after(time.Hour, 2, "long after it")
	})
}

// A process that has hardly been used is left as small as it is.
func TestGiveBack(t *testing.T) {
	freed := 0
	for cycles, want := range []int{0, 1, 2} {
		giveBack(uint64(cycles), func() { freed++ })
		if freed != want {
			t.Errorf("after %d collections: freed %d times, want %d", cycles, freed, want)
		}
	}
	freeMemory() // knows the name of what it reads: of another, Value would panic
}
