package hub

import (
	"fmt"
	"slices"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/server"
)

// view is the servers of one configuration. It does not change; another
// configuration makes another view, in which servers that stay are the same.
type view struct {
	config  *config.Config
	servers map[string]*server.Server
	off     map[string]string         // disabled servers, by name: where that is said
	broken  map[string]config.Problem // entries that cannot be used, by name: the first fault
	names   []string                  // of all three, sorted
}

func newView(c *config.Config, serve func(*config.Server) *server.Server) *view {
	v := &view{
		config:  c,
		servers: map[string]*server.Server{},
		off:     map[string]string{},
		broken:  map[string]config.Problem{},
	}
	for _, s := range c.Servers {
		if s.Enabled {
			v.servers[s.Name] = serve(s)
		} else {
			v.off[s.Name] = fmt.Sprintf("disabled in %s", s.Switch())
		}
		v.names = append(v.names, s.Name)
	}
	for _, p := range c.Problems {
		if p.Server == "" || v.known(p.Server) {
			continue
		}
		v.broken[p.Server] = p
		v.names = append(v.names, p.Server)
	}
	slices.Sort(v.names)
	return v
}

func (v *view) known(n string) bool {
	_, off := v.off[n]
	_, broken := v.broken[n]
	return v.servers[n] != nil || off || broken
}
