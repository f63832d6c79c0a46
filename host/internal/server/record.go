package server

import (
	"slices"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/recording"
)

// recorded is an adapter's client whose exchanges are written down, if somebody wants
// that, and the description that goes with it: each call is recorded on a stream of
// its own. Secrets are left out; what are only settings stays, or a recording would
// play something else.
func (s *Server) recorded(client adapterpb.AdapterClient, desc *describe.Description) (adapterpb.AdapterClient, *describe.Description) {
	w := s.env.Record
	if w == nil {
		return client, desc
	}
	if err := recording.Described(w, s.name, desc); err != nil {
		s.env.Log.Warn("nothing is recorded any more", "server", s.name, "error", err)
	}
	plain := *desc
	plain.Features = slices.DeleteFunc(slices.Clone(desc.Features), func(f string) bool { return f == featureCalls })
	from := recording.Source{Server: s.name, ConfigSchema: desc.ConfigSchema, Clean: s.env.Secrets.Text}
	return recording.Client(w, from, client), &plain
}
