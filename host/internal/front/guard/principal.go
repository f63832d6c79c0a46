package guard

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

// Principal is who a request comes from, and what they may use. It is not changed
// once made.
type Principal struct {
	// ID is the same for everything that one principal does, and nobody else's:
	// authenticators begin it with their own word ("token:ci", "oidc:alice"). It is
	// no secret.
	ID string
	// Grants are what the principal may use: a tool when one of them covers it.
	Grants []Grant
	// Expires is when the credential stops counting; zero: not by time.
	Expires time.Time
}

// Grant covers tools, and says how visible they may be.
type Grant struct {
	Servers []string // globs of server names, see name.Match; empty: all
	Tools   []string // globs of tool names; one that holds a slash, of <server>/<tool>; empty: all
	// Ceiling is the most that the tools are seen: with exposure.Codemode a direct
	// tool is found by search and called from scripts only. Empty: no ceiling.
	Ceiling exposure.Exposure
}

// All covers every tool as it is configured.
var All = Grant{}

// anonymous is whoever sits at this computer, when no credentials are asked for.
var anonymous = &Principal{ID: "local", Grants: []Grant{All}}

// Allows reports whether the principal may know of the server's tool. A tool that
// it may not has to be answered exactly as one that does not exist.
func (p *Principal) Allows(server, tool string) bool {
	for _, g := range p.Grants {
		if g.covers(server, tool) {
			return true
		}
	}
	return false
}

// AllowsServer reports whether the principal may know of the server at all: some
// grant names it, whatever tools of it.
func (p *Principal) AllowsServer(server string) bool {
	for _, g := range p.Grants {
		if matches(g.Servers, server) {
			return true
		}
	}
	return false
}

// Everything reports whether one grant covers every tool, of servers that do not
// exist yet too: such a principal may know what there is at all.
func (p *Principal) Everything() bool {
	for _, g := range p.Grants {
		if anything(g.Servers) && anything(g.Tools) && g.Ceiling != exposure.Hidden {
			return true
		}
	}
	return false
}

func anything(globs []string) bool { return len(globs) == 0 || slices.Contains(globs, "*") }

// Exposure returns how the principal sees a tool that is configured with e: Hidden
// when it is not allowed, and never more than the highest ceiling of the grants
// that cover the tool.
func (p *Principal) Exposure(server, tool string, e exposure.Exposure) exposure.Exposure {
	ceiling := exposure.Hidden
	for _, g := range p.Grants {
		if !g.covers(server, tool) {
			continue
		}
		most := g.Ceiling
		if most == "" {
			most = exposure.Direct
		}
		if visible(most) > visible(ceiling) {
			ceiling = most
		}
	}
	if visible(e) <= visible(ceiling) {
		return e
	}
	return ceiling
}

// visible orders exposures; what is no exposure counts as hidden.
func visible(e exposure.Exposure) int {
	switch e {
	case exposure.Direct:
		return 3
	case exposure.Deferred:
		return 2
	case exposure.Codemode:
		return 1
	}
	return 0
}

func (g Grant) covers(server, tool string) bool {
	if !matches(g.Servers, server) {
		return false
	}
	if len(g.Tools) == 0 {
		return true
	}
	for _, glob := range g.Tools {
		// "*" matches a slash: a glob without one would otherwise reach from a
		// server's name into its tools.
		of := tool
		if strings.Contains(glob, "/") {
			of = name.Join(server, tool)
		}
		if name.Match(glob, of) {
			return true
		}
	}
	return false
}

func matches(globs []string, s string) bool {
	for _, glob := range globs {
		if name.Match(glob, s) {
			return true
		}
	}
	return len(globs) == 0
}

// Same reports whether two requests come from the same principal: what one has
// opened, a session or a kept result, the other may use. Nobody is the same as
// nobody.
func Same(a, b *Principal) bool { return a != nil && b != nil && a.ID != "" && a.ID == b.ID }

// SameRights reports whether both may use the same, which one principal need not at
// two times. That a credential was renewed is no difference.
func SameRights(a, b *Principal) bool {
	return a == b || a != nil && b != nil && reflect.DeepEqual(a.Grants, b.Grants)
}

type contextKey struct{}

// NewContext returns ctx with the principal. The guard does this for every request
// it lets through, except for those of open paths.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal of a request that a guard let through, or nil.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
