package pace

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set []bool
		p := start(func(one bool) { set = append(set, one) }, true)
		is := func(when string, want ...bool) {
			t.Helper()
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if !slices.Equal(set, want) {
				t.Errorf("%s: %v, want %v", when, set, want)
			}
		}
		p.Begin()
		time.Sleep(quiet - 1)
		is("before it was quiet")
		time.Sleep(2 * time.Nanosecond)
		is("one piece of work", true)
		p.End()
		for range 1000 {
			p.Begin()
			p.End()
			time.Sleep(time.Millisecond)
		}
		is("one after the other", true)
		p.Begin()
		p.Begin()
		is("two at once", true, false)
		time.Sleep(10 * quiet)
		is("still two", true, false)
		p.End()
		time.Sleep(3 * quiet)
		is("one again", true, false, true)
		p.Burst()
		is("a burst", true, false, true, false)
		p.Close()
		time.Sleep(10 * quiet)
		is("closed", true, false, true, false)
		p.End()
	})
}

func TestOneProcessor(t *testing.T) {
	p := start(func(bool) { t.Error("the number is changed") }, false)
	p.Begin()
	p.Begin()
	p.Burst()
	p.End()
	p.End()
	p.Close()
}
