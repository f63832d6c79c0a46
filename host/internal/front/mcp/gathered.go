package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// gathered is what clients have been given of each server's prompts and resources.
// Their lists are made when they are asked for, of the servers that are up by then:
// one that comes later, comes back with others or goes makes another list.
type gathered struct {
	mu sync.Mutex
	of map[string]map[string]*given // by method of the list, which is there once it was asked for, and server
}

// given is one server's part of a list.
type given struct {
	sum   [sha256.Size]byte // zero: nothing
	mixed bool              // clients have been given different ones
}

// compareWait bounds asking a server that has just come up for its lists.
const compareWait = 30 * time.Second

// listChanged are the notifications of the lists.
var listChanged = map[string]string{
	"prompts/list":             "notifications/prompts/list_changed",
	"resources/list":           "notifications/resources/list_changed",
	"resources/templates/list": "notifications/resources/list_changed",
}

func sumOf(items [][]byte) (sum [sha256.Size]byte) {
	if len(items) == 0 {
		return sum
	}
	h := sha256.New()
	for _, item := range items {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(item))))
		h.Write(item)
	}
	h.Sum(sum[:0])
	return sum
}

// give notes a list that a client is about to get, of all servers that it may know of:
// of those that were asked, each has its items.
func (g *gathered) give(method string, all, asked []Server, items [][][]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[string]map[string]*given{}
	}
	if g.of[method] == nil {
		g.of[method] = map[string]*given{}
	}
	for _, s := range all {
		var sum [sha256.Size]byte
		if i := slices.IndexFunc(asked, func(a Server) bool { return a.Name == s.Name }); i >= 0 {
			sum = sumOf(items[i])
		}
		if one := g.of[method][s.Name]; one == nil {
			g.of[method][s.Name] = &given{sum: sum}
		} else if one.sum != sum {
			one.sum, one.mixed = sum, true
		}
	}
}

// asked are the lists that clients have asked for.
func (g *gathered) asked() (methods []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for method := range g.of {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	return methods
}

// differs says whether some client has another part of a server than that one, and
// notes that it is told.
func (g *gathered) differs(method, server string, sum [sha256.Size]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of[method][server]
	if one == nil {
		one = &given{}
		g.of[method][server] = one
	}
	if one.sum == sum && !one.mixed {
		return false
	}
	*one = given{sum: sum}
	return true
}

// left are the notifications of servers that are there no more, of which clients may
// have something; they are forgotten.
func (g *gathered) left(servers []Server) map[string][]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	gone := map[string][]string{}
	for method, of := range g.of {
		for name, one := range of {
			if slices.ContainsFunc(servers, func(s Server) bool { return s.Name == name }) {
				continue
			}
			if one.sum != ([sha256.Size]byte{}) || one.mixed {
				gone[listChanged[method]] = append(gone[listChanged[method]], name)
			}
			delete(of, name)
		}
	}
	return gone
}

// Teller tells the clients that are concerned of a notification without parameters.
type Teller func(method string, concerned func(*protocol.Caller) bool)

// CameUp compares what clients have of a server's prompts and resources with what it
// has now that it is up, in the background, and has those told who have to ask again.
func (f *Front) CameUp(server string, tell Teller) {
	methods := f.gathered.asked()
	if len(methods) == 0 {
		return
	}
	f.spawn(func() {
		ctx, cancel := context.WithTimeout(f.base, compareWait)
		defer cancel()
		servers := f.host.Servers()
		i := slices.IndexFunc(servers, func(s Server) bool { return s.Name == server })
		if i < 0 {
			return
		}
		var told []string
		for _, method := range methods {
			var items [][]byte
			if slices.Contains(servers[i].Methods, method) {
				var err error
				if items, err = f.pages(ctx, call.ForwardRequest{
					Server: server, Method: method, Caller: exposure.Model, Owner: "host", // one answer is for all clients
				}); err != nil {
					continue // nobody knows; it is not up any more, or does not say
				}
			}
			if f.gathered.differs(method, server, sumOf(items)) && !slices.Contains(told, listChanged[method]) {
				told = append(told, listChanged[method])
			}
		}
		for _, method := range told {
			tell(method, func(c *protocol.Caller) bool { return f.Concerns(c, server) })
		}
	})
}

// Reconfigured has those told who have prompts or resources of servers that are there
// no more.
func (f *Front) Reconfigured(tell Teller) {
	for method, names := range f.gathered.left(f.host.Servers()) {
		tell(method, func(c *protocol.Caller) bool {
			return slices.ContainsFunc(names, func(n string) bool { return f.Concerns(c, n) })
		})
	}
}
