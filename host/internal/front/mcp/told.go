package mcp

import (
	"crypto/sha256"
	"sync"

	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// told are the lists that clients know, or were told to ask for again, by their
// credential: one that may use a part hears of changes of that part alone.
type told struct {
	mu   sync.Mutex
	by   map[string]*known // of Host.Owner; who is not there has read nothing
	lost bool              // some were forgotten, so that who is not there may have
}

type known struct {
	list  [sha256.Size]byte
	ahead bool // a client has been given another one, of which the others were not told
}

// maxKnown bounds the credentials whose lists are remembered, about 200 bytes each.
const maxKnown = 4096

// given notes that a client is about to get the list as it is now.
func (f *Front) given(c *protocol.Caller) {
	now, key := f.listSum(c), f.host.Owner(c.Principal)
	t := &f.told
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.by[key]
	if k == nil {
		if len(t.by) >= maxKnown {
			clear(t.by)
			t.lost = true
		}
		if t.by == nil {
			t.by = map[string]*known{}
		}
		k = &known{list: now}
		t.by[key] = k
	}
	k.ahead = k.ahead || k.list != now
}

// Changed returns whether a client has to be told that its list is another one: once
// for each change, and also when another client of its credential has asked since and
// knows it. Nobody needs to be told of a list that nobody has read. What it returns is
// for one round of telling all clients.
func (f *Front) Changed() (concerned func(*protocol.Caller) bool) {
	var mu sync.Mutex
	decided := map[string]bool{}
	return func(c *protocol.Caller) bool {
		key := f.host.Owner(c.Principal)
		mu.Lock()
		defer mu.Unlock()
		tell, ok := decided[key]
		if !ok {
			tell = f.changedFor(c, key)
			decided[key] = tell
		}
		return tell
	}
}

func (f *Front) changedFor(c *protocol.Caller, key string) bool {
	now := f.listSum(c)
	t := &f.told
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.by[key]
	if k == nil {
		return t.lost
	}
	if !k.ahead && k.list == now {
		return false
	}
	k.list, k.ahead = now, false
	return true
}

func (f *Front) listSum(c *protocol.Caller) [sha256.Size]byte { return f.outlook(c).list().sum }
