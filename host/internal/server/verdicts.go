package server

import (
	"sync"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/host/internal/snapshot"
)

// kept is a snapshot on the disk, and the tools that it holds.
type kept struct {
	key      snapshot.Key
	sum      string
	tools    []*catalog.Tool
	verdicts func() snapshot.Verdicts // what has been found about them, read at its first call
}

func (s *Server) newKept(key snapshot.Key, sum string) *kept {
	return &kept{key: key, sum: sum, verdicts: sync.OnceValue(func() snapshot.Verdicts {
		return s.env.Snapshots.Verdicts(key, sum, schema.Edition())
	})}
}

// recall makes the tools of a snapshot.
func (k *kept) recall(server string, offers []catalog.Offer) []*catalog.Tool {
	k.tools = make([]*catalog.Tool, len(offers))
	for i, o := range offers {
		k.tools[i] = catalog.Recalled(server, o, func() *string { return k.verdicts().Of(i) })
	}
	return k.tools
}

// keepVerdicts keeps what was found out about the schemas of the tools that are kept,
// so that the next process need not compile them. What nobody has asked about
// nobody looks at here, either.
func (s *Server) keepVerdicts() {
	s.mu.Lock()
	k := s.kept
	s.mu.Unlock()
	if k == nil {
		return
	}
	all, asked := make(snapshot.Verdicts, len(k.tools)), false
	for i, t := range k.tools {
		all[i] = t.Verdict()
		asked = asked || all[i] != nil
	}
	if !asked {
		return
	}
	before, news := k.verdicts(), false
	for i := range all {
		switch was := before.Of(i); {
		case all[i] == nil:
			all[i] = was
		case was == nil:
			news = true
		}
	}
	if !news {
		return
	}
	if err := s.env.Snapshots.KeepVerdicts(k.key, k.sum, schema.Edition(), all); err != nil {
		s.env.Log.Debug("which schemas of the server are checked cannot be kept", "server", s.name, "error", err)
	}
}
