package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/plugins/websearch/internal/chain"
	"github.com/collet-dev/collet/plugins/websearch/internal/provider"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// maxName is longer than any company's name, and short enough for what is added.
	maxName = 200
	// researchTimeout ends the searches before the call's 30 s do, so that what was
	// found until then is an answer.
	researchTimeout = 25 * time.Second
)

type researchArgs struct {
	Company  string `json:"company" jsonschema:"its name"`
	Industry string `json:"industry,omitempty" jsonschema:"without it there is no search for trends"`
}

func researchBounds(s *jsonschema.Schema) {
	for _, name := range []string{"company", "industry"} {
		s.Properties[name].MinLength, s.Properties[name].MaxLength = new(1), new(maxName)
	}
}

// research is what was found about a company. A part that could not be searched
// for is in Missing, and the others are there nevertheless.
type research struct {
	Available   bool           `json:"available" jsonschema:"whether anything could be searched for"`
	Reason      string         `json:"reason,omitempty" jsonschema:"why not"`
	Company     string         `json:"company"`
	Industry    string         `json:"industry,omitempty"`
	Web         []chain.Result `json:"web_search_results"`
	News        []chain.Result `json:"company_news" jsonschema:"of the last month"`
	Competitors []chain.Result `json:"competitor_info"`
	Trends      []chain.Result `json:"industry_trends" jsonschema:"of the last year"`
	Missing     []missing      `json:"missing" jsonschema:"parts that could not be searched for"`
	Sources     []string       `json:"sources_used" jsonschema:"the providers that answered"`
	FetchedAt   time.Time      `json:"fetched_at"`
}

type missing struct {
	Part   string `json:"part" jsonschema:"the member that is empty for this reason"`
	Reason string `json:"reason"`
}

// part is one of the searches that make up a research.
type part struct {
	name  string
	to    *[]chain.Result
	query provider.Query
	found *chain.Found
	err   error
}

// research searches for all parts at once.
func (s *server) research(ctx context.Context, call *adapter.Call, in researchArgs) (*research, error) {
	r := &research{
		Company: strings.Join(strings.Fields(in.Company), " "), Industry: strings.Join(strings.Fields(in.Industry), " "),
		FetchedAt: time.Now().UTC().Truncate(time.Second),
	}
	switch {
	case r.Company == "" || len([]rune(r.Company)) > maxName:
		return nil, invalid("/company", "minLength", "the company's name is empty, or longer than "+strconv.Itoa(maxName)+" characters")
	case len([]rune(r.Industry)) > maxName:
		return nil, invalid("/industry", "maxLength", "the industry is longer than "+strconv.Itoa(maxName)+" characters")
	case len(s.chain.Names()) == 0:
		r.Reason = nothingConfigured
		return r, nil
	}
	parts := r.parts()
	short, cancel := context.WithTimeout(ctx, researchTimeout)
	defer cancel()
	var work sync.WaitGroup
	var done progress
	for _, p := range parts {
		work.Go(func() {
			p.found, p.err = s.chain.Search(short, p.query, "")
			done.step(call, len(parts), p.name)
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err() // the caller gave up
	}
	for _, p := range parts {
		if p.err != nil {
			r.Missing = append(r.Missing, missing{p.name, failure.Classify(p.err).Error()})
			continue
		}
		r.Available = true
		*p.to = p.found.Results
		if !slices.Contains(r.Sources, p.found.Provider) {
			r.Sources = append(r.Sources, p.found.Provider)
		}
	}
	if r.Industry == "" {
		r.Missing = append(r.Missing, missing{"industry_trends", "no industry was named"})
	}
	if !r.Available {
		r.Reason = failure.Classify(parts[0].err).Error()
	}
	return r, nil
}

func (r *research) parts() []*part {
	search := func(text string) provider.Query { return provider.Query{Text: text, Max: provider.MaxResults} }
	news := search(r.Company)
	news.News, news.Fresh.Word = true, "month"
	parts := []*part{
		{name: "web_search_results", to: &r.Web, query: search(strings.TrimSpace(r.Company + " " + r.Industry))},
		{name: "company_news", to: &r.News, query: news},
		{name: "competitor_info", to: &r.Competitors, query: search(r.Company + " competitors alternatives")},
	}
	if r.Industry != "" {
		trends := search(r.Industry + " trends " + strconv.Itoa(r.FetchedAt.Year()))
		trends.Fresh.Word = "year"
		parts = append(parts, &part{name: "industry_trends", to: &r.Trends, query: trends})
	}
	return parts
}

// progress counts what is done of a call.
type progress struct {
	mu   sync.Mutex
	done int
}

func (p *progress) step(call *adapter.Call, of int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	call.Progress(float64(p.done), float64(of), what)
}
