package codemode

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Who asks for many scripts does not keep the others from theirs, and nobody waits
// longer than is said.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		var mu sync.Mutex
		began, order := time.Now(), make([]string, 5) // by minute
		var work sync.WaitGroup
		ask := func(owner string) {
			work.Go(func() {
				if !turns.take(t.Context(), owner, time.Hour) {
					t.Errorf("%s had no turn", owner)
					return
				}
				mu.Lock()
				minute := int(time.Since(began) / time.Minute)
				order[minute] += owner
				mu.Unlock()
				time.Sleep(time.Minute)
				turns.give(owner)
			})
			synctest.Wait()
		}
		for _, owner := range strings.Fields("a a a a a b c a b") {
			ask(owner)
		}
		work.Wait()
		for i, want := range []string{"aa", "ab", "ac", "ab", "a"} {
			got := strings.Split(order[i], "")
			slices.Sort(got)
			if strings.Join(got, "") != want {
				t.Errorf("minute %d: %s ran, want %s", i, order[i], want)
			}
		}
		if turns.free != 2 || len(turns.running) != 0 || len(turns.waiting) != 0 {
			t.Errorf("left: %+v", turns)
		}
	})
}

func TestTurnsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		if !turns.take(t.Context(), "a", time.Second) {
			t.Fatal("no turn though one is free")
		}
		begun := time.Now()
		if turns.take(t.Context(), "b", time.Second) || time.Since(begun) != time.Second {
			t.Errorf("a turn, or none after %s", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if turns.take(ctx, "b", time.Second) || time.Since(begun) != time.Second+time.Millisecond {
			t.Errorf("a turn, or none after %s", time.Since(begun))
		}
		turns.give("a")
		if !turns.take(t.Context(), "b", time.Second) {
			t.Error("the turn that was given back is lost")
		}
		turns.give("b")
		if turns.free != 1 || len(turns.waiting) != 0 {
			t.Errorf("left: %+v", turns)
		}
	})
}
