package server

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// An adapter that a debugger, a full disk or SIGSTOP holds keeps its socket open,
// so only an answer shows that it lives. Two misses in a row, because one can be
// a machine that was asleep.
const (
	healthEvery  = 15 * time.Second
	healthWait   = 2 * time.Second
	healthMisses = 2
)

// checkHealth kills a process that no longer answers, so that the calls waiting
// for it fail and the next one starts the server again. While calls hear from it
// there is nothing to ask.
func (r *run) checkHealth() {
	tick := time.NewTicker(cmp.Or(r.server.env.HealthEvery, healthEvery))
	defer tick.Stop()
	misses := 0
	for {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return
		case <-r.proc.Done():
			return
		}
		if r.alive.Swap(false) {
			misses = 0
			continue
		}
		ctx, cancel := context.WithTimeout(r.ctx, healthWait)
		err := r.proc.Healthy(ctx)
		cancel()
		switch {
		case err == nil:
			misses = 0
		case r.ctx.Err() != nil || r.gone():
			return
		default:
			if misses++; misses == healthMisses {
				r.kill(fmt.Sprintf("it had failed %d health checks: %v", misses, err))
				return
			}
		}
	}
}
