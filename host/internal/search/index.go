package search

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Server is what one server says of itself and its tools.
type Server struct {
	Name         string
	Description  string // of its entry in mcp.toml
	Instructions string // its own, from the handshake
	Tools        []Tool
}

// Tool is one tool as its server describes it.
type Tool struct {
	Name        string // without the server's name
	Wire        string // its name toward model clients; empty: "server__tool"
	Title       string
	Description string
	InputSchema json.RawMessage // a JSON Schema; nil or broken: no parameters
}

// Index holds the tools of all servers. The zero value is empty and ready to use;
// any number of goroutines may use it.
type Index struct {
	mu      sync.Mutex // held while a part is put in its place
	current atomic.Pointer[Snapshot]
}

// Put makes s what is known of the server of that name. Tools without a name, and
// all but the first of one name, are left out. Only this server's text is read, and
// queries go on with what was known before until Put returns. Of two at once for
// one server the one that ends last stays. s is not kept.
func (x *Index) Put(s Server) {
	part := newShard(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.Snapshot().shards
	at, found := position(old, s.Name)
	next := slices.Clone(old)
	if found {
		next[at] = part
	} else {
		next = slices.Insert(next, at, part)
	}
	x.current.Store(&Snapshot{next})
}

// Remove forgets a server and its tools.
func (x *Index) Remove(server string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.Snapshot().shards
	if at, found := position(old, server); found {
		x.current.Store(&Snapshot{slices.Delete(slices.Clone(old), at, at+1)})
	}
}

// Snapshot returns what the index holds now. It never waits.
func (x *Index) Snapshot() *Snapshot {
	if s := x.current.Load(); s != nil {
		return s
	}
	return &Snapshot{}
}

// Search is Snapshot().Search.
func (x *Index) Search(query string, opt Options) (hits []Hit, total int) {
	return x.Snapshot().Search(query, opt)
}

func position(shards []*shard, server string) (int, bool) {
	return slices.BinarySearchFunc(shards, server, func(s *shard, name string) int {
		return strings.Compare(s.server, name)
	})
}

// Snapshot is an index at one moment. It never changes, and any number of
// goroutines may search it.
type Snapshot struct {
	shards []*shard // by server name
}

// Len returns the number of tools.
func (s *Snapshot) Len() int {
	n := 0
	for _, sh := range s.shards {
		n += len(sh.tools)
	}
	return n
}
