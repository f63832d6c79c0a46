package pins

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
)

// maxTools bounds the tools that are remembered of one server, those it withdrew
// included, so that one that invents names does not fill the file. What is beyond
// stays new: forgetting instead would let a server rewrite a tool by offering enough
// others meanwhile.
const maxTools = 20_000

// Review is what became of a server's tools.
type Review struct {
	Changed []string // rewritten since they were accepted, sorted
	New     []string // never seen before, sorted
	Missing []string // accepted once, and not offered now, sorted
}

// Review holds a server's tools, by name the digests of their definitions, against what was
// accepted. It pins nothing.
func (k *Keeper) Review(config, server string, digests map[string]string) (r Review, err error) {
	locks, err := k.locks(k.File(config))
	if err != nil {
		return Review{}, err
	}
	for name, d := range digests {
		switch known, same := locks.Tool(server, name, d); {
		case !known:
			r.New = append(r.New, name)
		case !same:
			r.Changed = append(r.Changed, name)
		}
	}
	for _, name := range locks.Tools(server) {
		if _, ok := digests[name]; !ok {
			r.Missing = append(r.Missing, name)
		}
	}
	slices.SortFunc(r.New, cmp.Compare)
	slices.SortFunc(r.Changed, cmp.Compare)
	return r, nil
}

// Digests are those of definitions, by name.
func Digests(tools iter.Seq[Definition]) map[string]string {
	digests := map[string]string{}
	var buf []byte
	for t := range tools {
		digests[t.Name], buf = digest(t.JSON, buf)
	}
	return digests
}

// Remember accepts those of a server's tools that were never seen before, and no
// other: refused are the tools that somebody else has accepted as something else
// meanwhile, and those for which there is no room.
func (k *Keeper) Remember(ctx context.Context, config, server string, digests map[string]string) (refused []string, err error) {
	if k.Frozen {
		return nil, nil
	}
	names := make([]string, 0, len(digests))
	for name := range digests {
		names = append(names, name)
	}
	slices.Sort(names)
	err = k.File(config).Change(ctx, func(own *Lock, all Locks) {
		refused = nil
		for _, name := range names {
			known, same := all.Tool(server, name, digests[name])
			switch {
			case known && !same, !known && len(own.Servers[server].Tools) >= maxTools:
				refused = append(refused, name)
			case !known:
				own.SetTool(server, name, digests[name])
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("remember the tools of %s: %w", server, err)
	}
	return refused, nil
}

// AcceptTools accepts tools of a server, by name the digests of their definitions,
// whatever they were before.
func (k *Keeper) AcceptTools(ctx context.Context, config, server string, digests map[string]string) error {
	err := k.File(config).Change(ctx, func(own *Lock, _ Locks) {
		for name, d := range digests {
			own.SetTool(server, name, d)
		}
	})
	if err != nil {
		return fmt.Errorf("accept tools of %s: %w", server, err)
	}
	return nil
}

// ForgetTools forgets tools of a server.
func (k *Keeper) ForgetTools(ctx context.Context, config, server string, names []string) error {
	err := k.File(config).Change(ctx, func(own *Lock, _ Locks) {
		for _, name := range names {
			delete(own.Servers[server].Tools, name)
		}
	})
	if err != nil {
		return fmt.Errorf("forget tools of %s: %w", server, err)
	}
	return nil
}
