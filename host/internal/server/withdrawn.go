package server

import (
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
)

// maxWithdrawn bounds how many tools a server that keeps inventing names is
// remembered for.
const maxWithdrawn = 1000

// Withdrawal is a tool that its server has listed before, and does no more.
type Withdrawal struct {
	Tool *catalog.Tool // as it was
	At   time.Time     // when the list without it came; zero: before, when no host asked
}

// withdrawals are the tools a server took back while the host ran, by name.
type withdrawals map[string]Withdrawal

func (w *withdrawals) add(t *catalog.Tool, at time.Time) {
	if *w == nil {
		*w = withdrawals{}
	}
	if len(*w) >= maxWithdrawn {
		w.forgetOldest()
	}
	(*w)[t.Name] = Withdrawal{Tool: t, At: at}
}

func (w withdrawals) forgetOldest() {
	var oldest string
	for name, x := range w {
		if oldest == "" || x.At.Before(w[oldest].At) {
			oldest = name
		}
	}
	delete(w, oldest)
}

func (w withdrawals) returned(name string) { delete(w, name) }

// Withdrawn is the tool of that name, if the server withdrew it.
func (s *Server) Withdrawn(name string) (Withdrawal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.withdrawn[name]
	return w, ok
}

// AllWithdrawn are the tools the server withdrew, as they were, in no order.
func (s *Server) AllWithdrawn() []*catalog.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	tools := make([]*catalog.Tool, 0, len(s.withdrawn))
	for _, w := range s.withdrawn {
		tools = append(tools, w.Tool)
	}
	return tools
}
