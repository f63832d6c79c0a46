package server

import "context"

// Restart has the server started anew, whatever it was doing, and waits until that is
// done or has failed. Calls in flight on the process that is there are served for a
// moment longer; what happened to it before says nothing any more. A start that is
// under way is the one that is wanted. The error is a *Failure.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	if s.life.state == Stopped {
		s.mu.Unlock()
		return s.gone()
	}
	if s.start == nil {
		if s.run != nil {
			s.retireLocked(s.run, "the server was restarted")
		}
		s.onLocked(renewed, nil)
		s.beginLocked()
	}
	st := s.start
	s.mu.Unlock()
	s.tell()
	return st.wait(ctx)
}
