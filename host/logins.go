package host

import (
	"context"
	"sync"

	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/sdk/failure"
)

// logins starts servers that could not be started without a credential as soon as a
// person has logged in. Whoever has such a server's tools in no list cannot call one,
// which would start it too.
type logins struct {
	known    map[string]credential.State // of servers that lacked one, when last looked at
	starting sync.WaitGroup
}

// look starts the servers whose login is new. A token that was refreshed is no login:
// a server that refuses every token would be started again and again.
func (l *logins) look(ctx context.Context, h *Host) {
	now := map[string]credential.State{}
	var names []string
	for _, n := range h.hub.Names() {
		s := h.hub.Server(n)
		if s == nil {
			continue
		}
		if f := s.Status().Failure; f == nil || f.Class != failure.AuthFailure {
			continue // others' credentials need no look, for which a keyring may ask a person
		}
		c, err := h.Credential(ctx, n)
		if err != nil {
			continue
		}
		if now[n] = c.State; c.State == credential.LoggedIn && l.known[n] != credential.LoggedIn {
			names = append(names, n)
		}
	}
	l.known = now
	if len(names) > 0 {
		l.starting.Go(func() { h.hub.Ready(ctx, names, false) })
	}
}
