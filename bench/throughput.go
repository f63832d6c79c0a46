package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/bench/internal/load"
)

// turn is how long one peer is under load before it is the next one's turn.
const turn = 250 * time.Millisecond

// throughput measures calls per second with many in flight. A call passes both
// floors on the same cores, so the floor is 1/(1/G + 1/S).
func throughput(ctx context.Context, t *table, p *peers) error {
	for _, c := range []struct {
		inFlight int
		target   float64
	}{{16, 0.7}, {64, 0.8}} {
		r, err := rates(ctx, c.inFlight, p.g, p.s, p.collet)
		if err != nil {
			return err
		}
		g, s, collet := r[0], r[1], r[2]
		floor := 1 / (1/g + 1/s)
		t.atLeast(fmt.Sprintf("calls/s, %d in flight", c.inFlight),
			fmt.Sprintf("%.0f (G %.0f, S %.0f)", floor, g, s), fmt.Sprintf("%.0f", collet), collet/floor, c.target)
	}
	return nil
}

// rates loads the peers in turns and returns the median rate of each.
func rates(ctx context.Context, inFlight int, peers ...peer) ([]float64, error) {
	samples := make([][]float64, len(peers))
	for round := range 10 {
		for i, p := range peers {
			rate, err := rate(ctx, inFlight, p)
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first only warms up
				samples[i] = append(samples[i], rate)
			}
		}
	}
	medians := make([]float64, len(peers))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

// rate makes small calls for one turn and returns how many a second.
func rate(ctx context.Context, inFlight int, p peer) (float64, error) {
	var (
		wg    sync.WaitGroup
		calls atomic.Int64
		errs  = make([]error, inFlight)
		begun = time.Now()
	)
	for i := range inFlight {
		wg.Go(func() {
			for time.Since(begun) < turn && errs[i] == nil {
				_, errs[i] = p(ctx, "echo", load.Echo)
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(calls.Load()) / time.Since(begun).Seconds(), errors.Join(errs...)
}
