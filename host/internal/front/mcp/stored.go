package mcp

import (
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// What scripts store lasts as long as a session, or, where the protocol has none
// (2026-07-28, and over stdio), belongs to the credential. Nobody says when that is
// over, so that a store which nobody uses is forgotten after a while, and there are
// only so many.
const (
	storeIdle  = 30 * time.Minute // as a session without use
	maxStores  = 64               // of 1 MiB at most
	maxStoring = maxStores / 2    // of one credential
)

// stores are what scripts have stored.
type stores struct {
	mu sync.Mutex
	by map[storeKey]*storeEntry
}

type storeKey struct{ owner, session string }

type storeEntry struct {
	codemode.Store
	principal any
	users     int
	used      time.Time
}

// of is the store for a caller's script, until release is called. Values that a
// credential with other rights has stored are not there: they may come from tools
// that it may not use any more.
func (s *stores) of(c *protocol.Caller, owner string, sameRights func(a, b any) bool) (store *codemode.Store, release func()) {
	key := storeKey{owner, c.Session}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	e := s.by[key]
	if e == nil || !sameRights(e.principal, c.Principal) {
		e = &storeEntry{}
		s.makeRoom(owner)
		if s.by == nil {
			s.by = map[storeKey]*storeEntry{}
		}
		s.by[key] = e
	}
	e.principal = c.Principal
	e.users++
	return &e.Store, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.users--
		e.used = time.Now()
		if e.users == 0 && e.Empty() && s.by[key] == e {
			delete(s.by, key) // most scripts store nothing
		}
	}
}

func (s *stores) expire() {
	for key, e := range s.by {
		if e.users == 0 && time.Since(e.used) >= storeIdle {
			delete(s.by, key)
		}
	}
}

// makeRoom forgets what was used longest ago: of the owner, when that has its part, or
// of all. What a script is using is not forgotten.
func (s *stores) makeRoom(owner string) {
	own := 0
	for key := range s.by {
		if key.owner == owner {
			own++
		}
	}
	if own < maxStoring && len(s.by) < maxStores {
		return
	}
	var oldest storeKey
	var since time.Time
	for key, e := range s.by {
		if e.users == 0 && (own < maxStoring || key.owner == owner) && (since.IsZero() || e.used.Before(since)) {
			oldest, since = key, e.used
		}
	}
	delete(s.by, oldest)
}
