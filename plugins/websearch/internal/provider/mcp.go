package provider

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// Search servers over MCP that take no key.
const (
	ParallelURL = "https://search.parallel.ai/mcp"
	ExaMCPURL   = "https://mcp.exa.ai/mcp"
)

const (
	// closeTimeout bounds the goodbye to an MCP server.
	closeTimeout = time.Second
	// stopGrace is what a program gets of that to leave by itself, and again after it
	// was asked to.
	stopGrace = 300 * time.Millisecond
)

// Remote says which MCP server searches, and with which of its tools.
type Remote struct {
	Name string // without mcp:
	At   mcp.Endpoint
	// Command is the program to start in place of At; nil reaches At.
	Command *mcp.Command
	// Tool is the name of the tool; "" is the one that searches, as far as names tell.
	Tool   string
	Client mcp.ClientInfo
	// Timeout bounds a search, connecting included; Start is what a program gets
	// before that to come up.
	Timeout, Start time.Duration
}

// MCP is a search server over MCP, whichever: what its tool takes is read from its
// schema, and what it answers is understood in the forms that such servers use. It
// connects with the first search. Close ends the connection.
func MCP(r Remote) *Server {
	return &Server{exchange: exchange{name: "mcp:" + r.Name}, remote: r, turn: make(chan struct{}, 1)}
}

// Server is the Provider that MCP returns.
type Server struct {
	exchange
	remote Remote

	turn   chan struct{} // held while connected is read or replaced
	client *mcp.Client   // nil before the first search
	tool   searchTool
}

// searchTool is a tool that searches and the arguments it has for that.
type searchTool struct {
	name, query, count string
	list               bool // query is a list of queries
}

// Name implements Provider.
func (s *Server) Name() string { return s.name }

// Close ends the connection, if there is one, and waits at most closeTimeout, also
// for a search that is connecting: that one ends by itself.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.client == nil {
		return nil
	}
	return s.client.Close(ctx)
}

// Search implements Provider.
func (s *Server) Search(ctx context.Context, q Query) (Answer, error) {
	limit := s.remote.Timeout
	if s.remote.Command != nil && !s.up() {
		limit += s.remote.Start
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, tool, err := s.connected(ctx)
	if err != nil {
		return Answer{}, s.failed(err)
	}
	args := map[string]any{tool.query: withSites(q)}
	if tool.list {
		args[tool.query] = []string{withSites(q)}
	}
	if tool.count != "" {
		args[tool.count] = q.Max
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return Answer{}, s.failed(err)
	}
	raw, err = client.CallTool(ctx, tool.name, raw, mcp.RequestOptions{})
	if err != nil {
		return Answer{}, s.failed(err)
	}
	a, e := s.answer(raw)
	if e != nil {
		return Answer{}, e
	}
	a.Ignored = ignored(q)
	return a, nil
}

// ignored names what no MCP server is asked for.
func ignored(q Query) []string {
	var list []string
	for name, there := range map[string]bool{
		"kind": q.News, "freshness": q.Fresh != Freshness{}, "country": q.Country != "", "language": q.Language != "",
	} {
		if there {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// connected returns the connection, making one when there is none any more.
func (s *Server) connected(ctx context.Context) (*mcp.Client, searchTool, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, searchTool{}, ctx.Err()
	}
	if s.client != nil {
		select {
		case <-s.client.Done():
			s.client = nil
		default:
			return s.client, s.tool, nil
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return nil, searchTool{}, err
	}
	tools, err := c.ListTools(ctx)
	tool := searchTool{}
	if err == nil {
		tool, err = s.find(tools)
	}
	if err != nil {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = c.Close(bye) // the error is why it is closed
		return nil, searchTool{}, err
	}
	s.client, s.tool = c, tool
	return c, tool, nil
}

func (s *Server) connect(ctx context.Context) (*mcp.Client, error) {
	opt := mcp.Options{ClientInfo: s.remote.Client, StopGrace: stopGrace}
	if s.remote.Command != nil {
		return mcp.Start(ctx, *s.remote.Command, opt)
	}
	return mcp.Dial(ctx, s.remote.At, opt)
}

// up says whether there is a connection; one that is being made is none.
func (s *Server) up() bool {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		return false
	}
	if s.client == nil {
		return false
	}
	select {
	case <-s.client.Done():
		return false
	default:
		return true
	}
}

// The arguments for the query, and for how many results, that tools are known to
// have; earlier ones count first.
var (
	queryNames = []string{"query", "q", "search_query", "search_queries", "queries", "question", "objective"}
	countNames = []string{"max_results", "numResults", "num_results", "count", "limit", "num"}
)

// find returns the tool to search with.
func (s *Server) find(tools []json.RawMessage) (searchTool, error) {
	var names []string
	for _, raw := range tools {
		d := gjson.ParseBytes(raw)
		name := d.Get("name").String()
		names = append(names, name)
		if s.remote.Tool != "" && name != s.remote.Tool || s.remote.Tool == "" && !strings.Contains(strings.ToLower(name), "search") {
			continue
		}
		t := searchTool{name: name}
		properties := d.Get("inputSchema.properties").Map()
		var required []string
		for _, r := range d.Get("inputSchema.required").Array() {
			required = append(required, r.String())
		}
		for _, n := range queryNames {
			// One that is required beats one that is not: a search needs no more.
			if p, ok := properties[n]; ok && (t.query == "" || slices.Contains(required, n) && !slices.Contains(required, t.query)) {
				t.query, t.list = n, p.Get("type").String() == "array"
			}
		}
		for _, n := range countNames {
			if _, ok := properties[n]; ok && t.count == "" {
				t.count = n
			}
		}
		more := slices.DeleteFunc(required, func(n string) bool { return n == t.query || n == t.count })
		if t.query != "" && len(more) == 0 {
			return t, nil
		}
		if s.remote.Tool != "" {
			return t, failure.New(failure.InvalidResult, failure.NotSent, "%s cannot be used to search: it has no argument for a query, or requires others: %s", name, quote(strings.Join(more, ", ")))
		}
	}
	if s.remote.Tool != "" {
		return searchTool{}, failure.New(failure.NotFound, failure.NotSent, "there is no tool %s; it has %s", s.remote.Tool, quote(strings.Join(names, ", ")))
	}
	return searchTool{}, failure.New(failure.NotFound, failure.NotSent, "none of its tools searches for one query: %s", quote(strings.Join(names, ", ")))
}

// failed is an error of the connection or of the call as a provider's.
func (s *Server) failed(err error) *Error {
	e := s.unreachable(err)
	switch e.Failure.Class {
	case failure.RateLimited:
		e.Reason, e.Reset = Busy, e.Failure.RetryAfter
	case failure.AuthFailure:
		e.Reason = BadKey
	case failure.InvalidArguments:
		e.Reason = BadQuery
	}
	return e
}
