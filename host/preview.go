package host

import (
	"context"
	"encoding/json"
	"slices"

	front "github.com/collet-dev/collet/host/internal/front/mcp"
)

// Prompt is what a model client puts before its model at the beginning of every
// conversation: the tools of its list, each with name, description and inputSchema,
// and the instructions.
type Prompt = front.Prompt

// SearchQuery is what a model says to tool_search.
type SearchQuery struct {
	Query  string
	Server string // only tools of this server; empty: of all
	Limit  int    // the most tools to find, 50 at most; 0: 5
}

// Search finds tools as tool_search does for a model and returns the
// structuredContent of its answer, {"tools", "total", "pending"}. It starts nothing:
// what is found is what Tools has listed.
func (h *Host) Search(ctx context.Context, q SearchQuery) (json.RawMessage, error) {
	face := front.New(preview{view{&Front{host: h}}, q.Server})
	defer face.Close()
	return face.Search(ctx, q.Query, q.Server, q.Limit)
}

// Instructions is what a model client that came now would be told of the servers.
// It starts nothing.
func (h *Host) Instructions() string {
	return front.Instructions(view{&Front{host: h}}.Servers())
}

// Prompt is what a client that came now would put before its model, as configured,
// or as if all tools that are not hidden had the exposure e. servers narrows it to
// those of that name; nil means all. It starts nothing.
func (h *Host) Prompt(e Exposure, servers []string) Prompt {
	all := h.seen(servers)
	if e != "" {
		all = front.Exposed(all, e)
	}
	return front.NewPrompt(all)
}

// Definitions are what reaches a model of each tool that is not hidden when it is
// listed directly, by the tool's name; servers as for Prompt.
func (h *Host) Definitions(servers []string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, s := range h.seen(servers) {
		for _, t := range s.Tools {
			all[t.FullName()] = front.Definition(t)
		}
	}
	return all
}

func (h *Host) seen(names []string) []front.Server {
	all := view{&Front{host: h}}.Servers()
	if names == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s front.Server) bool { return !slices.Contains(names, s.Name) })
}

// preview is the host for a face that serves nobody.
type preview struct {
	view
	server string // the only one to be seen; "" for all
}

// Settled implements front.Host: whoever asks has waited.
func (preview) Settled(context.Context, func(server string) bool) {}

// Servers implements front.Host.
func (p preview) Servers() []front.Server {
	if p.server == "" {
		return p.view.Servers()
	}
	return p.host.seen([]string{p.server})
}
