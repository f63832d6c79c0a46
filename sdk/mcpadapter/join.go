package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

// Part is one upstream of several behind one server.
type Part struct {
	// Name is what people call it; it begins the word on what it is missing.
	Name string
	Options
}

// Join returns one server of several upstreams, each with a connection of its own:
// the tools of all in the order of the parts, the first of a name, and every call
// to the part that of names by its index. Every part stands alone (Shape.Alone):
// while one cannot be reached the others serve, and the server is Degraded and says
// for each part why. It is Connecting until it knows of every part whether it can
// be reached, once. What an upstream says of itself is the first part's word, and
// nothing is forwarded.
func Join(env *adapter.Env, of func(tool string) int, parts ...Part) adapter.Server {
	j := &joined{of: of}
	for _, p := range parts {
		p.Shape.Alone = true
		j.names = append(j.names, p.Name)
		j.parts = append(j.parts, newServer(env, p.Options))
	}
	return j
}

type joined struct {
	of    func(tool string) int
	names []string
	parts []*server
}

var (
	_ adapter.Watcher = (*joined)(nil)
	_ adapter.Closer  = (*joined)(nil)
)

// Tools implements adapter.Server.
func (j *joined) Tools(ctx context.Context) ([]adapter.Tool, error) {
	lists, errs := make([][]adapter.Tool, len(j.parts)), make([]error, len(j.parts))
	var asked sync.WaitGroup
	for i, p := range j.parts {
		asked.Go(func() { lists[i], errs[i] = p.Tools(ctx) })
	}
	asked.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err // an author's mistake: a part that cannot be reached has none
	}
	var all []adapter.Tool
	taken := map[string]bool{}
	for _, list := range lists {
		for _, t := range list {
			if !taken[t.Name] {
				taken[t.Name], all = true, append(all, t)
			}
		}
	}
	return all, nil
}

// Call implements adapter.Server.
func (j *joined) Call(ctx context.Context, call *adapter.Call) (*adapter.Result, error) {
	return j.parts[j.of(call.Tool)].Call(ctx, call)
}

// Close implements io.Closer: all parts at once, since each may take its time.
func (j *joined) Close() error {
	errs := make([]error, len(j.parts))
	var closing sync.WaitGroup
	for i, p := range j.parts {
		closing.Go(func() { errs[i] = p.Close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// Watch implements adapter.Watcher.
func (j *joined) Watch(ctx context.Context, ev *adapter.Events) error {
	j.publish(ctx, ev)
	return nil
}

func (j *joined) publish(ctx context.Context, to events) {
	all := &standing{to: to, names: j.names, parts: make([]partState, len(j.parts))}
	var watching sync.WaitGroup
	for i, p := range j.parts {
		watching.Go(func() { _ = p.news.publish(ctx, &partNews{all, i}) })
	}
	watching.Wait()
}

// standing is how all parts are.
type standing struct {
	to    events
	names []string

	mu    sync.Mutex
	parts []partState
	told  adapter.State // last; zero before the first word
}

// partState is how one part is, and what its list was last.
type partState struct {
	state    adapter.State // Connecting only until it was anything else; zero before the first word
	why      *failure.Failure
	revision string
}

// partNews hands on what one part reports.
type partNews struct {
	*standing
	part int
}

// Health implements events. A part that connects again is what it was before, until
// that is over: the others are not to wait for it.
func (n *partNews) Health(state adapter.State, why *failure.Failure) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := &n.parts[n.part]
	if state == adapter.Connecting && p.state > adapter.Connecting {
		return
	}
	p.state, p.why = state, why
	all, missing := n.merged()
	if all == n.told && all != adapter.Degraded { // that may be for another reason now
		return
	}
	n.told = all
	n.to.Health(all, missing)
}

// merged is the state of the whole. The caller holds mu.
func (s *standing) merged() (adapter.State, *failure.Failure) {
	var why *failure.Failure
	var words []string
	for i, p := range s.parts {
		if p.state <= adapter.Connecting {
			return adapter.Connecting, nil
		}
		if p.state == adapter.Ready {
			continue
		}
		f := failure.New(failure.Unknown, failure.NotSent, "it cannot be used")
		if p.why != nil {
			*f = *p.why
		}
		if why == nil {
			why = f
		}
		words = append(words, s.names[i]+": "+f.Message)
	}
	if why == nil {
		return adapter.Ready, nil
	}
	why.Message = strings.Join(words, "; ")
	return adapter.Degraded, why
}

// ToolsChanged implements events.
func (n *partNews) ToolsChanged(revision string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.parts[n.part].revision = revision
	all := make([]string, len(n.parts))
	for i, p := range n.parts {
		all[i] = p.revision
	}
	n.to.ToolsChanged(strings.Join(all, "."))
}

// ServerInfo implements events.
func (n *partNews) ServerInfo(info json.RawMessage) {
	if n.part == 0 {
		n.to.ServerInfo(slices.Clone(info))
	}
}

// ForwardMethods and Forwarded implement events.
func (n *partNews) ForwardMethods([]string)           {}
func (n *partNews) Forwarded(string, json.RawMessage) {}
