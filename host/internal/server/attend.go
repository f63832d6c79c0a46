package server

import (
	"context"
	"time"
)

// drainWait is how long calls in flight may go on after the settings of their
// server changed. Those who call meanwhile wait for it, so it is short.
const drainWait = 10 * time.Second

// attend serves a run after a successful start until its process ends, and then
// says so.
func (s *Server) attend(r *run) {
	if !r.debugged {
		r.wg.Go(r.checkHealth)
	}
	s.serve(r)
	// The sweep of the process's session has limits of its own; beyond them nobody
	// can wait for it.
	r.awaitExit(lostWait + stopWait)
	r.end()
	exit := r.proc.Exit()
	s.mu.Lock()
	if s.run == r {
		s.run = nil
		s.onLocked(ended, r.exited(false))
	}
	if s.leaving == r {
		s.leaving = nil
	}
	s.mu.Unlock()
	close(r.over)
	s.tell()
	if !exit.Requested {
		s.env.Log.Warn("the adapter process ended", "server", s.name, "reason", exit.Reason)
	}
	s.startAgain()
}

// serve does what a running server needs done, and returns when its process has
// ended or is about to.
func (s *Server) serve(r *run) {
	unused := time.NewTimer(0)
	defer unused.Stop()
	for {
		var idle <-chan time.Time
		left, on := s.retireUnused(r)
		if l, due := s.retireStale(r); due && (!on || l < left) {
			left, on = l, true
		}
		if on {
			unused.Reset(left)
			idle = unused.C
		}
		select {
		case <-idle:
		case <-r.renewed:
		case <-r.changed:
			ctx, cancel := context.WithTimeout(r.stay, relistWait)
			if fail := s.relist(ctx, r); fail != nil && !r.ending() && r.stay.Err() == nil {
				s.env.Log.Warn("the new list of tools cannot be had; keeping the old one", "server", s.name, "error", fail)
			}
			cancel()
		case <-r.stay.Done():
			s.drain(r)
			ctx, cancel := context.WithTimeout(context.Background(), stopWait)
			if err := r.stop(ctx); err != nil {
				s.env.Log.Warn("the adapter process cannot be stopped", "server", s.name, "error", err)
			}
			cancel()
			return
		case <-r.lost:
			return
		case <-r.proc.Done():
			return
		}
	}
}

// retireUnused stops a run that nothing has needed for the server's idle_timeout.
// Otherwise it says in what time to look again, if ever.
func (s *Server) retireUnused(r *run) (left time.Duration, on bool) {
	s.mu.Lock()
	limit := s.Settings().IdleTimeout
	if limit == 0 || r.debugged || s.run != r {
		s.mu.Unlock()
		return 0, false
	}
	left = limit
	if r.calls == 0 {
		left = limit - time.Since(s.used)
	}
	if left > 0 {
		s.mu.Unlock()
		return left, true
	}
	s.retireLocked(r, "it had not been used for a while")
	s.onLocked(unused, nil)
	s.mu.Unlock()
	s.tell()
	s.env.Log.Info("stopping the adapter process: not used", "server", s.name, "idleTimeout", limit)
	return 0, false
}

// retireLocked has the run stopped by who attends it. The server is without one
// from now on.
func (s *Server) retireLocked(r *run, why string) {
	s.run, s.leaving = nil, r
	r.mu.Lock()
	r.killed = why
	r.mu.Unlock()
	r.dismiss()
}

// leaveRun ends a use that was counted in r.calls.
func (s *Server) leaveRun(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	if r.calls--; r.calls == 0 && r.quiet != nil {
		close(r.quiet)
		r.quiet = nil
	}
	if r.calls == 0 && !r.stale.IsZero() {
		select {
		case r.renewed <- struct{}{}: // it may have waited for this
		default:
		}
	}
}

// drain waits for the calls in flight, for a while.
func (s *Server) drain(r *run) {
	s.mu.Lock()
	if r.calls == 0 {
		s.mu.Unlock()
		return
	}
	quiet := make(chan struct{})
	r.quiet = quiet
	s.mu.Unlock()
	timer := time.NewTimer(drainWait)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	case <-s.ctx.Done():
	case <-r.lost:
	case <-r.proc.Done():
	}
}

// stop ends the process in the order launch keeps; end must follow.
func (r *run) stop(ctx context.Context) error {
	r.cancel()
	return r.proc.Stop(ctx)
}

// end waits for the run's goroutines and closes its log, after the process ended.
func (r *run) end() {
	r.cancel()
	r.streams.close()
	r.wg.Wait()
	r.log.close()
}

// abandon stops a run that never served, and waits for it.
func (r *run) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	_ = r.stop(ctx)
	r.end()
}

// kill ends the process at once. why is told to those whose calls end with it.
func (r *run) kill(why string) {
	r.mu.Lock()
	first := r.killed == ""
	if first {
		r.killed = why // what follows from the kill is no reason for it
	}
	r.mu.Unlock()
	if first {
		r.server.env.Log.Warn("killing the adapter process", "server", r.server.name, "reason", why)
	}
	r.proc.Kill()
}
