package enrich

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/sdk/failure"
)

// fake is a host whose tools answer with what a test lays out.
type fake struct {
	servers []host.Server
	answers map[string]any // by tool: a result as JSON text, or an error
	asked   []host.Request
}

func (f *fake) Servers() []host.Server { return f.servers }

func (f *fake) Call(_ context.Context, req host.Request) (*host.Result, error) {
	f.asked = append(f.asked, req)
	switch a := f.answers[req.Tool].(type) {
	case string:
		return &host.Result{JSON: json.RawMessage(a), IsError: strings.Contains(a, `"isError":true`)}, nil
	case error:
		return nil, a
	}
	server, tool, _ := strings.Cut(req.Tool, "/")
	return nil, &host.Failure{Server: server, Tool: tool, Failure: *failure.New(failure.NotFound, failure.NotSent, "there is no such tool")}
}

func both() *fake {
	return &fake{
		servers: []host.Server{{Name: "websearch", Plugin: "websearch"}, {Name: "workiq", Plugin: "workiq"}},
		answers: map[string]any{
			"websearch/research_company": researched(`{"available":true,"web_search_results":` + many(12) + `,"company_news":[],"competitor_info":` + many(12) + `,"industry_trends":` + many(1) + `,"missing":[]}`),
			"workiq/ask":                 answered(`{"teamExpertise":["Ann"],"collaborationPatterns":[],"documentationGaps":["x"]}`),
		},
	}
}

func researched(structured string) string {
	return `{"content":[],"structuredContent":` + structured + `}`
}

func answered(text string) string {
	quoted, _ := json.Marshal(text) // a string encodes
	return `{"content":[{"type":"text","text":"{}"}],"structuredContent":{"answer":` + string(quoted) + `}}`
}

// many are search results, with everything in them that is not wanted in a line.
func many(n int) string {
	one := `{"title":"A\u202e\n  title","url":"https://example.com/1","snippet":"` + strings.Repeat("long ", 1000) + `","published_at":"2026-11-30T00:00:00Z"}`
	return "[" + strings.Join(slices.Repeat([]string{one}, n), ",") + "]"
}

func TestBothSources(t *testing.T) {
	f := both()
	before := time.Now().Add(-time.Second)
	e, skipped, err := Run(t.Context(), f, Subject{Company: " Contoso \n Ltd", Industry: "retail", Team: "Platform"}, Options{})
	if err != nil || len(skipped) != 0 {
		t.Fatal(skipped, err)
	}
	if !slices.Equal(e.Sources, []string{"websearch", "workiq"}) || e.EnrichedAt.Before(before) || e.EnrichedAt.Nanosecond() != 0 || e.EnrichedAt.Location() != time.UTC {
		t.Errorf("%v at %s", e.Sources, e.EnrichedAt)
	}
	if lines := strings.Split(e.WebSearchResults, "\n"); len(lines) != 10 || len(e.CompetitorInfo) != 10 || len(e.IndustryTrends) != 1 || e.CompanyNews != nil {
		t.Errorf("%d pages, %d, %d, %v", len(lines), len(e.CompetitorInfo), len(e.IndustryTrends), e.CompanyNews)
	}
	if line := e.IndustryTrends[0]; !strings.HasPrefix(line, "A title: long long") || !strings.HasSuffix(line, "… (https://example.com/1, 2026-11-30T00:00:00Z)") || len([]rune(line)) > maxItem {
		t.Errorf("a line is %q", line)
	}
	if in := e.WorkIQ; !slices.Equal(in.TeamExpertise, []string{"Ann"}) || in.CollaborationPatterns != nil || !slices.Equal(in.DocumentationGaps, []string{"x"}) {
		t.Errorf("insights %+v", in)
	}
	if got := string(f.asked[0].Arguments); got != `{"company":"Contoso Ltd","industry":"retail"}` || f.asked[0].Caller != host.Program {
		t.Errorf("websearch got %s", got)
	}
	var question struct{ Question string }
	if err := json.Unmarshal(f.asked[1].Arguments, &question); err != nil || question.Question != (Subject{"Contoso Ltd", "retail", "Platform"}).Question() ||
		!strings.Contains(question.Question, "Contoso Ltd (industry: retail)") || !strings.Contains(question.Question, "the team Platform") {
		t.Errorf("workiq got %s", f.asked[1].Arguments)
	}
	fits(t, e)
}

// What is written is what the published schema says, empty or full.
func TestSchema(t *testing.T) {
	fits(t, &Enrichment{})
	long := slices.Repeat([]string{strings.Repeat("é", maxItem)}, maxItems)
	fits(t, &Enrichment{"text", long, long, long, &Insights{long, long, long}, time.Now().UTC(), []string{WebSearch, WorkIQ}})
	for _, bad := range []string{`{"companyNews":"x"}`, `{"sourcesUsed":["bing"]}`, `{"companyNews":` + "[" + strings.Repeat(`"x",`, 10) + `"x"]}`, `{"other":1}`, `{"webSearchResults":[]}`} {
		if problems := published(t).Validate([]byte(bad)); len(problems) == 0 {
			t.Errorf("the schema allows %s", bad)
		}
	}
}

func fits(t *testing.T, e *Enrichment) {
	t.Helper()
	text, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if problems := published(t).Validate(text); len(problems) > 0 {
		t.Errorf("%s: %v", text, problems)
	}
}

func published(t *testing.T) *schema.Schema {
	t.Helper()
	raw, err := os.ReadFile("../../docs/enrich.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := schema.Compile(raw)
	if why := s.Unchecked(); why != "" {
		t.Fatal(why)
	}
	return s
}

func failed(server, tool string, class failure.Class, message string) error {
	return &host.Failure{Server: server, Tool: tool, Failure: *failure.New(class, failure.NotSent, "%s", message)}
}

// A source that cannot be used is one line, and the other is there.
func TestSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*fake)
		opt     Options
		sources string
		lines   []string
	}{
		"refused": {change: func(f *fake) {
			f.answers["workiq/ask"] = failed("workiq", "ask", failure.ConsentRequired, "the call was refused\nby the person")
		}, sources: "[websearch]", lines: []string{"workiq is skipped: workiq/ask: the call was refused by the person"}},
		"no search service": {change: func(f *fake) {
			f.answers["websearch/research_company"] = researched(`{"available":false,"reason":"set a key"}`)
		}, sources: "[workiq]", lines: []string{"websearch is skipped: set a key"}},
		"a tool that says it failed": {change: func(f *fake) {
			f.answers["websearch/research_company"] = `{"isError":true,"content":[{"type":"text","text":"no\nway"}]}`
		}, sources: "[workiq]", lines: []string{"websearch is skipped: websearch/research_company: the tool says it failed: no way"}},
		"another answer than was promised": {change: func(f *fake) {
			f.answers["websearch/research_company"] = `{"content":[]}`
			f.answers["workiq/ask"] = answered("I would rather not.")
		}, sources: "[]", lines: []string{"websearch is skipped: websearch answered with no structured content", "workiq is skipped: workiq answered, but not with the lists that it was asked for; ask again, or ask it yourself with 'collet tools call'"}},
		"in part": {change: func(f *fake) {
			f.answers["websearch/research_company"] = researched(`{"available":true,"missing":[{"part":"company_news","reason":"a limit"},{"part":"industry_trends","reason":"no industry was named"},{"part":"else","reason":"x"}]}`)
		}, sources: "[websearch workiq]", lines: []string{"websearch: no companyNews: a limit"}},
		"pages without an address": {change: func(f *fake) {
			f.answers["websearch/research_company"] = researched(`{"available":true,"web_search_results":[{"title":"t"},{"title":"t","url":"https://` + strings.Repeat("x", maxItem) + `"},{"url":"https://x"}]}`)
		}, sources: "[websearch workiq]"},
		"neither": {change: func(f *fake) { f.servers = nil }, sources: "[]", lines: []string{
			"websearch is skipped: no server is configured that has the plugin websearch", "workiq is skipped: no server is configured that has the plugin workiq"}},
		"disabled": {change: func(f *fake) { f.servers[1].State = "disabled" }, sources: "[websearch]", lines: []string{"workiq is skipped: no server is configured that has the plugin workiq"}},
		"an older server": {change: func(f *fake) {
			f.answers["workiq/ask_work_iq"] = f.answers["workiq/ask"]
			delete(f.answers, "workiq/ask")
		}, sources: "[websearch workiq]"},
		"a server without the tool": {change: func(f *fake) { delete(f.answers, "workiq/ask") }, sources: "[websearch]", lines: []string{"workiq is skipped: workiq/ask: there is no such tool"}},
		"another name": {change: func(f *fake) {
			f.servers = append(f.servers[:1], host.Server{Name: "colleagues", Plugin: "/opt/collet-plugin-workiq.exe"})
			f.answers["colleagues/ask"] = f.answers["workiq/ask"]
		}, sources: "[websearch workiq]"},
		"several": {change: func(f *fake) {
			f.servers = append(f.servers[:1], host.Server{Name: "a", Plugin: "workiq"}, host.Server{Name: "b", Plugin: "workiq"})
		}, sources: "[websearch]", lines: []string{"workiq is skipped: several servers have the plugin workiq, and none is called like it: name one of a, b"}},
		"named": {change: func(f *fake) {
			f.servers = append(f.servers, host.Server{Name: "b", Plugin: "mcp"})
			f.answers["b/ask"] = f.answers["workiq/ask"]
			delete(f.answers, "workiq/ask")
		}, opt: Options{WorkIQ: "b"}, sources: "[websearch workiq]"},
	} {
		f := both()
		c.change(f)
		e, skipped, err := Run(t.Context(), f, Subject{Company: "c"}, c.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var lines []string
		for _, s := range skipped {
			lines = append(lines, s.String())
		}
		if fmt.Sprint(e.Sources) != c.sources || !slices.Equal(lines, c.lines) {
			t.Errorf("%s: sources %v, %q", name, e.Sources, lines)
		}
		if name == "pages without an address" && e.WebSearchResults != "" {
			t.Errorf("%s: %s", name, e.WebSearchResults)
		}
		if len(e.Sources) == 0 && (!e.EnrichedAt.IsZero() || e.WorkIQ != nil) {
			t.Errorf("%s: %+v", name, e)
		}
		fits(t, e)
	}
}

func TestSubject(t *testing.T) {
	for _, s := range []Subject{{}, {Company: " \n"}, {Company: strings.Repeat("x", 201)}, {Company: "x", Team: strings.Repeat("x", 201)}, {Company: "a\xff"}} {
		f := both()
		_, _, err := Run(t.Context(), f, s, Options{})
		if own, ok := errors.AsType[*failure.Failure](err); !ok || own.Class != failure.InvalidArguments || len(f.asked) > 0 {
			t.Errorf("%+v: %v, asked %d", s, err, len(f.asked))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Run(ctx, both(), Subject{Company: "c"}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestInsights(t *testing.T) {
	for text, want := range map[string]*Insights{
		`{"teamExpertise":["a"]}`: {TeamExpertise: []string{"a"}},
		"Sure {not json} {\"x\":1}:\n```json\n{\"documentationGaps\":[{\"a\":\"x\",\"b\":2},[\"y\"],\"\",\"\\u202e\"]}\n```\nBye {}": {DocumentationGaps: []string{"x, 2", "y"}},
		"## Team expertise\n- **Ann**: Go\n1. Bob\n\n**Collaboration patterns**\n* weekly\n\nDocumentation gaps:\n• none\n### Other\n- not this": {
			TeamExpertise: []string{"Ann: Go", "Bob"}, CollaborationPatterns: []string{"weekly"}, DocumentationGaps: []string{"none"}},
		`{"teamExpertise":[],"documentationGaps":[]}`: {},
		`{"teamExpertise":"Ann"}`:                     nil,
		"We have expertise in Go.\n- Ann":             nil,
		"":                                            nil,
		strings.Repeat("{", 1000):                     nil,
	} {
		if got := insights(text); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%.60q is %+v", text, got)
		}
	}
}

func FuzzInsights(f *testing.F) {
	f.Add("## Team expertise\n- **Ann**: Go\n1. Bob")
	f.Add(`x {"teamExpertise":[{"a":"b"},1,null],"documentationGaps":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		in := insights(text)
		if in == nil {
			return
		}
		for _, l := range in.lists() {
			if len(*l.to) > maxItems {
				t.Errorf("%d items", len(*l.to))
			}
			for _, item := range *l.to {
				if item == "" || len([]rune(item)) > maxItem || plain(item) != item {
					t.Errorf("item %q", item)
				}
			}
		}
	})
}
