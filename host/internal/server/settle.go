package server

import (
	"context"
	"time"
)

// Since is when the server got its present settings: nothing can have been known
// of it before, but what is recalled.
func (s *Server) Since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}

// Settle waits, without starting it, until something can be said of the server's
// tools: they are known or recalled, or it cannot be started. It waits no longer than
// until. With asked, what is recalled does not count. It reports whether this host has
// been told of them.
func (s *Server) Settle(ctx context.Context, until time.Time, asked bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settlingLocked(asked) {
		return s.listed // without the timer of a deadline, which may wake another thread
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for s.settlingLocked(asked) {
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			break
		}
	}
	return s.listed
}

// Settling reports whether Settle would wait.
func (s *Server) Settling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settlingLocked(false)
}

func (s *Server) settlingLocked(asked bool) bool {
	return s.unsettledLocked() && (asked || !s.recalled)
}

// Settled reports whether this host has been told of the server's tools, or could
// not start it.
func (s *Server) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unsettledLocked()
}

func (s *Server) unsettledLocked() bool {
	return !s.listed && (s.life.state == Idle || s.life.state == Starting)
}
