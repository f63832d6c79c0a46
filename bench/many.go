package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
	"github.com/collet-dev/collet/host"
)

// manyServers is how many servers are listed at once.
const manyServers = 50

// listMany measures how long a fresh host takes to list one, ten and fifty servers in
// full, beside starting as many bare plugins and bare servers in parallel, each with
// its handshake and the servers with their list. What ends the processes is no
// part of either time.
func listMany(ctx context.Context, t *table, bin, dir, echo, plugin string) error {
	for _, n := range []int{1, 10, manyServers} {
		if err := listServers(ctx, t, bin, dir, echo, plugin, n); err != nil {
			return err
		}
	}
	return nil
}

func listServers(ctx context.Context, t *table, bin, dir, echo, plugin string, n int) error {
	var floor, collet []time.Duration
	for round := range 6 {
		began := time.Now()
		end, err := startBare(echo, plugin, n)
		bareTook := time.Since(began)
		end()
		if err != nil {
			return err
		}
		began = time.Now()
		h, err := listed(ctx, bin, dir, echo, n)
		took := time.Since(began)
		if h != nil {
			h.Close()
		}
		if err != nil {
			return err
		}
		if round > 0 { // the first only warms up
			floor, collet = append(floor, bareTook), append(collet, took)
		}
	}
	f, c := median(floor), median(collet)
	figure := fmt.Sprintf("list %d servers, p50", n)
	if n < manyServers { // the start of the host itself counts for more than its servers
		t.note(figure, millis(f), millis(c), fmt.Sprintf("%.2f", float64(c)/float64(f)))
		return nil
	}
	t.atMost(figure, millis(f), millis(c), float64(c)/float64(f), 1.5)
	return nil
}

// listed opens a host and lists all its servers.
func listed(ctx context.Context, bin, dir, echo string, n int) (*host.Host, error) {
	h, err := openHost(ctx, bin, dir, echo, n)
	if err != nil {
		return nil, err
	}
	l, err := h.Tools(ctx, host.Query{})
	if err == nil && len(l.Tools) != 2*n {
		err = fmt.Errorf("%d tools of %d servers", len(l.Tools), manyServers)
		for _, s := range l.Servers {
			if s.Error != "" {
				err = fmt.Errorf("%w; %s: %s", err, s.Name, s.Error)
			}
		}
	}
	return h, err
}

// startBare starts as many bare plugins and bare servers at once and waits until
// all are up. end ends those that are, whatever the error.
func startBare(echo, plugin string, n int) (end func(), err error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		ends []func()
		errs []error
	)
	note := func(end func(), err error) {
		mu.Lock()
		defer mu.Unlock()
		ends, errs = append(ends, end), append(errs, err)
	}
	for range n {
		wg.Go(func() {
			g, err := bare.StartPlugin(plugin)
			if err != nil {
				note(func() {}, err)
				return
			}
			note(g.Close, nil)
		})
		wg.Go(func() {
			s, err := bare.StartServer(echo)
			if err != nil {
				note(func() {}, err)
				return
			}
			_, err = s.List()
			note(func() { s.Close() }, err)
		})
	}
	wg.Wait()
	return func() {
		for _, end := range ends {
			wg.Go(end)
		}
		wg.Wait()
	}, errors.Join(errs...)
}

// recovery measures how long after its kill a server answers again, beside the
// same call on a host that has to start the server for the first time.
func recovery(ctx context.Context, t *table, bin, dir, echo string) error {
	var own, again []time.Duration
	for range 7 {
		h, err := openHost(ctx, bin, dir, echo, 1)
		if err != nil {
			return err
		}
		call := through(h)
		begun := time.Now()
		_, err = call(ctx, "echo", load.Echo)
		own = append(own, time.Since(begun))
		if err == nil {
			begun = time.Now()
			err = killAndCall(ctx, h, call)
			again = append(again, time.Since(begun))
		}
		h.Close()
		if err != nil {
			return err
		}
	}
	const limit = 500 * time.Millisecond
	start, back := median(own), median(again)
	t.line("answer after kill -9, p50", millis(start), millis(back), "+"+millis(back-start), "<= +"+millis(limit), back-start <= limit)
	return nil
}

func killAndCall(ctx context.Context, h *host.Host, call peer) error {
	adapter, err := os.FindProcess(h.Servers()[0].Pid)
	if err != nil {
		return err
	}
	if err := adapter.Kill(); err != nil {
		return err
	}
	for {
		_, err := call(ctx, "echo", load.Echo)
		if err == nil || ctx.Err() != nil {
			return err
		}
		// The call that was under way when the process died fails; the next starts it.
	}
}
