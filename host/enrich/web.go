package enrich

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// web asks for what the web says.
func (e *Enrichment) web(ctx context.Context, a *asker) ([]Skipped, error) {
	args := map[string]string{"company": a.about.Company}
	if a.about.Industry != "" {
		args["industry"] = a.about.Industry
	}
	got, err := a.call(ctx, "research_company", args)
	if err != nil {
		return nil, err
	}
	if got.structured.Get("available").Type == gjson.False {
		return nil, failure.New(failure.Unknown, failure.Answered, "%s", cut(got.structured.Get("reason").String(), maxItem))
	}
	if !got.structured.IsObject() {
		return nil, failure.New(failure.InvalidResult, failure.Answered, "%s answered with no structured content", a.server)
	}
	results := pages(got.structured.Get("web_search_results"))
	e.WebSearchResults = strings.Join(results, "\n")
	e.CompanyNews = pages(got.structured.Get("company_news"))
	e.CompetitorInfo = pages(got.structured.Get("competitor_info"))
	e.IndustryTrends = pages(got.structured.Get("industry_trends"))
	var missing []Skipped
	for _, m := range got.structured.Get("missing").Array() {
		part, ok := parts[m.Get("part").String()]
		if ok && (part != "industryTrends" || a.about.Industry != "") { // else nobody wanted them
			missing = append(missing, Skipped{WebSearch, part, failure.New(failure.Unknown, failure.Answered, "%s", cut(m.Get("reason").String(), maxItem))})
		}
	}
	return missing, nil
}

// parts are the members of an Enrichment by those of research_company's answer.
var parts = map[string]string{
	"web_search_results": "webSearchResults", "company_news": "companyNews",
	"competitor_info": "competitorInfo", "industry_trends": "industryTrends",
}

// pages are search results as lines: "Title: excerpt (https://..., 2026-11-30T00:00:00Z)".
func pages(list gjson.Result) []string {
	var lines []string
	for _, r := range list.Array() {
		title, snippet := plain(r.Get("title").String()), plain(r.Get("snippet").String())
		line := title
		if title != "" && snippet != "" {
			line += ": "
		}
		line += snippet
		from := plain(r.Get("url").String())
		if at := plain(r.Get("published_at").String()); from != "" && at != "" {
			from += ", " + at
		}
		// The address is what makes it worth something, and is not cut.
		if line == "" || from == "" || len(from) > maxItem/2 {
			continue
		}
		lines = append(lines, cut(line, maxItem-len(from)-len(" ()"))+" ("+from+")")
		if len(lines) == maxItems {
			break
		}
	}
	return lines
}
