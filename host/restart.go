package host

import (
	"context"

	"github.com/collet-dev/collet/host/internal/server"
)

// Restart starts a server anew, or for the first time, and waits until it is up. Calls
// in flight on the process that was there get a moment to end. The error is a *Failure:
// of class not-found when there is no such server, else why it did not start.
func (h *Host) Restart(ctx context.Context, name string) error {
	s, err := h.hub.Enabled(name)
	if err == nil {
		err = s.Restart(ctx)
	}
	if err != nil {
		return ofServer(name, server.AsFailure(err))
	}
	return nil
}
