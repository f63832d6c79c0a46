package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/sdk/failure"
)

// follows says which states can come after which.
var follows = map[State]string{
	Idle:       "starting stopped",
	Starting:   "ready failed backing-off idle stopped",
	Ready:      "degraded backing-off failed idle stopped",
	BackingOff: "starting idle stopped",
	Failed:     "starting idle stopped",
	Stopped:    "",
}

// Whatever happens to a server, in whatever order: there are never two processes,
// every wait ends in its time with success or a failure that was not sent, states
// follow each other as they may, and nothing is left at the end.
func TestWhateverHappens(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { whatever(t, seed) })
	}
}

func whatever(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	v := supervise(t, &config.Server{Command: "0", IdleTimeout: 20 * time.Second})
	var mu sync.Mutex // of rng, which starts use as well
	pick := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	v.fail = func() *Failure {
		if pick(4) == 0 {
			return broken()
		}
		return nil
	}
	var callers sync.WaitGroup
	use := func() {
		const limit = 15 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		begun := time.Now()
		err := v.Ready(ctx, 0)
		if took := time.Since(begun); took > limit {
			t.Errorf("seed %d: waited for %v", seed, took)
		}
		var f *Failure
		if err != nil && (!errors.As(err, &f) || f.Delivery != failure.NotSent || f.Message == "") {
			t.Errorf("seed %d: %v", seed, err)
		}
		if err == nil {
			_ = v.call([]string{"answer", "hang", "answer"}[pick(3)])
		}
	}
	for step := range 150 {
		switch pick(8) {
		case 0, 1, 2:
			callers.Go(use)
		case 3:
			v.mu.Lock()
			if v.running != nil {
				v.running.crash()
			}
			v.mu.Unlock()
		case 4:
			v.Apply(&config.Server{Name: "s", Command: string(rune('0' + pick(3))), IdleTimeout: time.Duration(pick(3)) * 10 * time.Second})
		case 5:
			_, _ = v.Tools()
			_ = v.List(t.Context())
		default:
			time.Sleep(time.Duration(pick(4000)) * time.Millisecond)
		}
		if step%10 == 0 {
			synctest.Wait()
		}
	}
	// Calls that hang end with the process.
	if err := v.Close(context.Background()); err != nil {
		t.Errorf("seed %d: close: %v", seed, err)
	}
	callers.Wait()
	for i, s := range v.st.seen[1:] {
		if before := v.st.seen[i]; s != before && !strings.Contains(follows[before], string(s)) {
			t.Errorf("seed %d: %s after %s", seed, s, before)
		}
	}
	if last := v.st.seen[len(v.st.seen)-1]; last != Stopped {
		t.Errorf("seed %d: %s at the end", seed, last)
	}
}
