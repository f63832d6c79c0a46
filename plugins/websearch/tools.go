package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/plugins/websearch/internal/chain"
	"github.com/collet-dev/collet/plugins/websearch/internal/page"
	"github.com/collet-dev/collet/plugins/websearch/internal/provider"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// nothingConfigured is the whole truth without any provider: nothing is searched
// behind anybody's back.
const nothingConfigured = "no search provider is configured: set one of SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY, SERPER_API_KEY, or keyless = true in the config"

const (
	defaultResults = 5
	// maxQuery is what the tightest of the services takes, in characters.
	maxQuery     = 400
	defaultChars = 20_000
	maxChars     = 200_000
	maxDomains   = 20
)

// server has the tools. What they return was written by strangers, and says so.
type server struct {
	tools     adapter.Tools
	providers []provider.Provider
	chain     *chain.Chain
	pages     *http.Client
}

func newServer(providers []provider.Provider, log *slog.Logger, pages *http.Client) *server {
	s := &server{providers: providers, chain: chain.New(providers, log), pages: pages}
	adapter.Add(&s.tools, "search", "Search the web. Titles and snippets are plain text; use fetch to read a page.", s.search,
		adapter.ReadOnly(), adapter.Title("Search the web"), adapter.Schema(searchBounds))
	adapter.Add(&s.tools, "fetch", "Read one page of the public web: HTML as Markdown without navigation, other text as it is.", s.fetch,
		adapter.ReadOnly(), adapter.Title("Read a web page"), adapter.Schema(fetchBounds), adapter.Output[page.Page]())
	adapter.Add(&s.tools, "research_company", "Search the web for a company: what it is, its news of the last month, competitors, and trends of its industry.", s.research,
		adapter.ReadOnly(), adapter.Title("Research a company"), adapter.Schema(researchBounds))
	return s
}

// Tools implements adapter.Server.
func (s *server) Tools(ctx context.Context) ([]adapter.Tool, error) { return s.tools.Tools(ctx) }

// Call implements adapter.Server.
func (s *server) Call(ctx context.Context, call *adapter.Call) (*adapter.Result, error) {
	r, err := s.tools.Call(ctx, call)
	if err == nil && !r.IsError {
		r.JSON = mcpadapter.Untrusted(r.JSON)
	}
	return r, err
}

// Watch implements adapter.Watcher: without any provider there are pages to be read,
// and nothing else.
func (s *server) Watch(_ context.Context, ev *adapter.Events) error {
	if len(s.providers) == 0 {
		ev.Health(adapter.Degraded, failure.New(failure.AuthFailure, failure.NotSent, nothingConfigured))
		return nil
	}
	ev.Health(adapter.Ready, nil)
	return nil
}

// Close implements io.Closer: it says goodbye to the MCP servers, all at once.
func (s *server) Close() error {
	var work sync.WaitGroup
	for _, p := range s.providers {
		if c, ok := p.(io.Closer); ok {
			work.Go(func() { _ = c.Close() }) // nobody is left to tell
		}
	}
	work.Wait()
	return nil
}

type searchArgs struct {
	Query    string   `json:"query" jsonschema:"what to look for"`
	Max      int      `json:"max_results,omitempty" jsonschema:"default 5"`
	Kind     string   `json:"kind,omitempty" jsonschema:"default web"`
	Fresh    string   `json:"freshness,omitempty" jsonschema:"day, week, month, year, or two dates: 2026-01-01..2026-02-01"`
	Domains  []string `json:"domains,omitempty" jsonschema:"only these domains"`
	Exclude  []string `json:"exclude_domains,omitempty"`
	Country  string   `json:"country,omitempty" jsonschema:"ISO 3166 code, as DE"`
	Language string   `json:"language,omitempty" jsonschema:"ISO 639-1 code, as de"`
	Provider string   `json:"provider,omitempty" jsonschema:"ask only this one"`
}

func searchBounds(s *jsonschema.Schema) {
	p := s.Properties
	p["query"].MinLength, p["query"].MaxLength = new(1), new(maxQuery)
	p["max_results"].Minimum, p["max_results"].Maximum = new(1.0), new(float64(provider.MaxResults))
	p["kind"].Enum = []any{"web", "news"}
	p["domains"].MaxItems, p["exclude_domains"].MaxItems = new(maxDomains), new(maxDomains)
	p["country"].Pattern = "^[A-Za-z]{2}$"
	p["language"].Pattern = "^[A-Za-z]{2}$"
}

func (s *server) search(ctx context.Context, _ *adapter.Call, in searchArgs) (*chain.Found, error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	if len(s.chain.Names()) == 0 {
		return nil, failure.New(failure.AuthFailure, failure.NotSent, nothingConfigured)
	}
	return s.chain.Search(ctx, q, in.Provider)
}

// query checks what the host leaves to us, whoever calls.
func (in searchArgs) query() (provider.Query, error) {
	q := provider.Query{
		Text: strings.Join(strings.Fields(in.Query), " "), Max: min(cmp.Or(max(in.Max, 0), defaultResults), provider.MaxResults),
		News: in.Kind == "news", Country: strings.ToUpper(in.Country), Language: strings.ToLower(in.Language),
	}
	if q.Text == "" {
		return q, invalid("/query", "minLength", "the query is empty")
	}
	if len([]rune(q.Text)) > maxQuery {
		return q, invalid("/query", "maxLength", "the query is longer than "+strconv.Itoa(maxQuery)+" characters")
	}
	if !isCode(q.Country) {
		return q, invalid("/country", "pattern", "a country is two letters, as DE")
	}
	if !isCode(q.Language) {
		return q, invalid("/language", "pattern", "a language is two letters, as de")
	}
	var err error
	if q.Fresh, err = provider.ParseFreshness(in.Fresh); err != nil {
		return q, invalid("/freshness", "format", err.Error())
	}
	if q.Domains, err = domains("/domains", in.Domains); err != nil {
		return q, err
	}
	q.Exclude, err = domains("/exclude_domains", in.Exclude)
	return q, err
}

func isCode(s string) bool {
	return s == "" || len(s) == 2 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
}

// domains normalises names, and refuses what would be an operator in a query.
func domains(path string, list []string) ([]string, error) {
	if len(list) > maxDomains {
		return nil, invalid(path, "maxItems", "there are more than "+strconv.Itoa(maxDomains)+" domains")
	}
	var out []string
	for i, d := range list {
		d = chain.Domain(strings.TrimSpace(d))
		if d == "" || strings.Trim(d, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.HasPrefix(d, "-") {
			return nil, invalid(path+"/"+strconv.Itoa(i), "format", "a domain is a name such as example.org, without https:// and path")
		}
		out = append(out, d)
	}
	return out, nil
}

type fetchArgs struct {
	URL      string `json:"url" jsonschema:"http or https, of a public host"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"default 20000"`
}

func fetchBounds(s *jsonschema.Schema) {
	s.Properties["url"].MinLength = new(1)
	s.Properties["max_chars"].Minimum, s.Properties["max_chars"].Maximum = new(1.0), new(float64(maxChars))
}

// fetch gives models the text as it is: inside JSON every line break costs twice.
func (s *server) fetch(ctx context.Context, _ *adapter.Call, in fetchArgs) (*adapter.Result, error) {
	p, err := page.Fetch(ctx, s.pages, in.URL, min(cmp.Or(max(in.MaxChars, 0), defaultChars), maxChars))
	if err != nil {
		return nil, err
	}
	text := p.Text
	if p.Title != "" && !strings.HasPrefix(text, "# ") {
		text = "# " + p.Title + "\n\n" + text
	}
	if p.Truncated {
		text += "\n\n[The page goes on: max_chars is up to " + strconv.Itoa(maxChars) + ".]"
	}
	return adapter.Untrusted(text, p)
}
