package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/collet-dev/collet/bench/internal/load"
	"github.com/collet-dev/collet/bench/internal/proc"
)

// gatewayFigures are what was found out about one gateway.
type gatewayFigures struct {
	name      string
	first     time.Duration // from the start to the first complete list, median
	one       time.Duration // one call at a time, median
	perSecond float64       // 16 in flight
	large     time.Duration // a result of 1 MiB, median
	memory    int64         // PSS without the servers, bytes
	beside    time.Duration // as first, beside a server that never answers; 0: not within patience
	recovered time.Duration // from kill -9 of a server to its next answer; 0: not within patience
	failed    int           // calls that failed meanwhile
	orphans   int           // servers that are there 5 s after kill -9 of the gateway
}

const (
	startRounds = 5
	callRounds  = 50 // of callsInTurn calls
	callsInTurn = 20
	largeRounds = 20
	inFlight    = 16
	floodRounds = 3
	floodTime   = 2 * time.Second
)

func (f *field) measureGateways(ctx context.Context) ([]gatewayFigures, error) {
	all := f.gateways()
	figures := make([]gatewayFigures, len(all))
	for i, g := range all {
		figures[i].name = g.name
	}
	progress("starts")
	if err := f.measureStarts(ctx, all, figures); err != nil {
		return nil, err
	}
	progress("calls")
	if err := f.measureCalls(ctx, all, figures); err != nil {
		return nil, err
	}
	for i, g := range all {
		progress("faults of " + g.name)
		if err := f.measureFaults(ctx, g, &figures[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return figures, nil
}

func (f *field) measureStarts(ctx context.Context, all []gateway, figures []gatewayFigures) error {
	first := make([][]time.Duration, len(all))
	for range startRounds {
		for i, g := range all {
			s, err := f.start(ctx, g, echoes(servers), servers)
			if err != nil {
				return err
			}
			first[i] = append(first[i], s.first)
			s.close()
		}
	}
	for i := range all {
		figures[i].first = median(first[i])
	}
	return nil
}

// measureCalls has all gateways up at once; they take turns.
func (f *field) measureCalls(ctx context.Context, all []gateway, figures []gatewayFigures) error {
	var up []*serving
	defer func() {
		for _, s := range up {
			s.close()
		}
	}()
	for _, g := range all {
		s, err := f.start(ctx, g, echoes(servers), servers)
		if err != nil {
			return err
		}
		up = append(up, s)
	}
	one, large, flood := make([][]time.Duration, len(up)), make([][]time.Duration, len(up)), make([][]time.Duration, len(up))
	for range callRounds {
		for i, s := range up {
			for range callsInTurn {
				begun := time.Now()
				if err := s.call(ctx, s.echo, load.Echo, 100); err != nil {
					return fmt.Errorf("%s: %w", all[i].name, err)
				}
				one[i] = append(one[i], time.Since(begun))
			}
		}
	}
	for range largeRounds {
		for i, s := range up {
			begun := time.Now()
			if err := s.call(ctx, s.blob, load.Blob(1<<20), 1<<20); err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			large[i] = append(large[i], time.Since(begun))
		}
	}
	for range floodRounds {
		for i, s := range up {
			each, err := s.flood(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			flood[i] = append(flood[i], each)
		}
	}
	for i, s := range up {
		sum, err := s.memory(f.echo)
		if err != nil {
			return err
		}
		figures[i].one, figures[i].large, figures[i].memory = median(one[i]), median(large[i]), sum
		figures[i].perSecond = float64(time.Second) / float64(median(flood[i]))
	}
	return nil
}

// flood is the time for each call with inFlight of them in flight.
func (s *serving) flood(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	counts, errs := make([]int, inFlight), make([]error, inFlight)
	var callers sync.WaitGroup
	for i := range inFlight {
		callers.Go(func() {
			for time.Since(begun) < floodTime && errs[i] == nil {
				errs[i] = s.call(ctx, s.echo, load.Echo, 100)
				counts[i]++
			}
		})
	}
	callers.Wait()
	took, calls := time.Since(begun), 0
	for _, n := range counts {
		calls += n
	}
	return took / time.Duration(calls), errors.Join(errs...)
}

// processes are those of the place, the servers too: those with its mark, and what
// they have started, because an adapter of collet has an environment of its own.
func (s *serving) processes() []int {
	all, err := proc.Marked(s.place.mark)
	if err != nil {
		return nil
	}
	children, err := proc.Children()
	if err != nil {
		return nil
	}
	for i := 0; i < len(all); i++ {
		for _, pid := range children[all[i]] {
			if !slices.Contains(all, pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

// split tells the gateway's own processes from those of the servers.
func (s *serving) split(server string) (own, servers []int) {
	for _, pid := range s.processes() {
		switch program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); {
		case err != nil: // it has ended
		case program == server:
			servers = append(servers, pid)
		default:
			own = append(own, pid)
		}
	}
	return own, servers
}

// memory is the sum of what the gateway's processes use, without the servers, of
// which each shared page counts in parts.
func (s *serving) memory(server string) (sum int64, err error) {
	own, _ := s.split(server)
	for _, pid := range own {
		n, err := proc.Bytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss")
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
