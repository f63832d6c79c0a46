package cli

import (
	"strings"
	"sync"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// starts tells on stderr which servers of a host that serves did not start, once
// each until they are there. A server that works is worth no line.
type starts struct {
	streams *terminal.Streams
	mu      sync.Mutex
	failed  map[string]bool
}

func newStarts(streams *terminal.Streams) *starts {
	return &starts{streams: streams, failed: map[string]bool{}}
}

// heard is told of every change of a server's state.
func (s *starts) heard(e *host.ServerEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case "failed":
		if s.failed[e.Server] {
			return // whoever calls it tries again, and hears the failure
		}
		s.failed[e.Server] = true
		s.streams.Note("collet: %s did not start: %s", e.Server, reason(e.Failure))
	case "ready", "degraded":
		if s.failed[e.Server] {
			s.streams.Note("collet: %s has started", e.Server)
		}
		delete(s.failed, e.Server)
	case "idle", "stopped": // its entry is another, or gone
		delete(s.failed, e.Server)
	}
}

// maxReason bounds the reason in a line, in bytes: the log has the rest.
const maxReason = 300

// reason is why a start failed, on one line.
func reason(f *host.Failure) string {
	if f == nil {
		return "it did not say why"
	}
	text := strings.Join(strings.Fields(f.Message), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	if next := nextStep(f); next != "" {
		text += "; " + next
	}
	return text
}
