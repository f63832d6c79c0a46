package main

import (
	"context"
	"fmt"
	"time"

	"github.com/collet-dev/collet/bench/internal/load"
)

// batch is how many calls one peer makes before it is the next one's turn: few
// enough that noise of the machine hits all alike, enough to be warm.
const batch = 25

// latencies makes calls one at a time, the peers taking turns, and returns the
// median time of each.
func latencies(ctx context.Context, rounds, batch int, tool string, arguments []byte, peers ...peer) ([]time.Duration, error) {
	samples := make([][]time.Duration, len(peers))
	for round := range rounds {
		for i, p := range peers {
			for k := range batch {
				begun := time.Now()
				if _, err := p(ctx, tool, arguments); err != nil {
					return nil, err
				}
				// The first round, and the first call after a turn, only warm up.
				if d := time.Since(begun); round > 0 && (k > 0 || batch == 1) {
					samples[i] = append(samples[i], d)
				}
			}
		}
	}
	medians := make([]time.Duration, len(peers))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

// floorOf words the floor G + S.
func floorOf(show func(time.Duration) string, m []time.Duration) (time.Duration, string) {
	return m[0] + m[1], fmt.Sprintf("%s (G %s + S %s)", show(m[0]+m[1]), show(m[0]), show(m[1]))
}

// warm measures one small call at a time.
func warm(ctx context.Context, t *table, p *peers) error {
	m, err := latencies(ctx, 200, batch, "echo", load.Echo, p.g, p.s, p.collet)
	if err != nil {
		return err
	}
	floor, words := floorOf(micros, m)
	t.atMost("warm call, 100 B, p50", words, micros(m[2]), float64(m[2])/float64(floor), 1.3)
	return nil
}

// large measures large results, one at a time.
func large(ctx context.Context, t *table, p *peers) error {
	for _, c := range []struct{ bytes, rounds, batch int }{{64 << 10, 80, 10}, {1 << 20, 60, 4}, {10 << 20, 25, 2}} {
		m, err := latencies(ctx, c.rounds, c.batch, "blob", load.Blob(c.bytes), p.g, p.s, p.collet)
		if err != nil {
			return err
		}
		floor, words := floorOf(micros, m)
		t.atMost("result of "+size(int64(c.bytes))+", p50", words, micros(m[2]), float64(m[2])/float64(floor), 2)
	}
	return nil
}
