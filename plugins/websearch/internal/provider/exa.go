package provider

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Exa is the Exa search API.
func Exa(client *http.Client, base, key string) Provider {
	return exa{exchange{name: "exa", client: client}, base, key}
}

type exa struct {
	exchange
	base, key string
}

func (x exa) Name() string { return x.name }

type exaRequest struct {
	Query    string      `json:"query"`
	Type     string      `json:"type"`
	Category string      `json:"category,omitempty"`
	Max      int         `json:"numResults"`
	Include  []string    `json:"includeDomains,omitempty"`
	Exclude  []string    `json:"excludeDomains,omitempty"`
	Start    string      `json:"startPublishedDate,omitempty"`
	End      string      `json:"endPublishedDate,omitempty"`
	Country  string      `json:"userLocation,omitempty"`
	Contents exaContents `json:"contents"`
}

type exaContents struct {
	Highlights bool `json:"highlights"`
}

func (x exa) Search(ctx context.Context, q Query) (Answer, error) {
	req := exaRequest{
		Query: q.Text, Type: "auto", Max: q.Max, Include: q.Domains, Exclude: q.Exclude, Country: q.Country,
		Contents: exaContents{Highlights: true},
	}
	if q.News {
		req.Category = "news"
	}
	if from := q.Fresh.since(time.Now().UTC()); !from.IsZero() {
		req.Start = from.Format(time.RFC3339)
	}
	if q.Fresh.isRange() {
		req.End = q.Fresh.To.AddDate(0, 0, 1).Format(time.RFC3339)
	}
	var a Answer
	if q.Language != "" {
		a.Ignored = append(a.Ignored, "language")
	}
	raw, e := x.post(ctx, x.base+"/search", req, http.Header{"X-Api-Key": {x.key}})
	if e != nil {
		return Answer{}, e
	}
	for _, r := range gjson.GetBytes(raw, "results").Array() {
		h := Hit{
			Title: r.Get("title").String(), URL: r.Get("url").String(), Snippet: excerptOf(r),
			Published: r.Get("publishedDate").String(), News: q.News,
		}
		if n := r.Get("score"); n.Type == gjson.Number {
			h.Score = new(n.Num)
		}
		a.Hits = append(a.Hits, h)
	}
	return a, nil
}

// excerptOf finds the excerpt of a result in the members that services have for
// it, the shortest kind first.
func excerptOf(r gjson.Result) string {
	for _, name := range []string{"snippet", "summary", "description", "highlights", "excerpts", "content", "text"} {
		v := r.Get(name)
		if v.IsArray() {
			var parts []string
			for _, p := range v.Array() {
				parts = append(parts, p.String())
			}
			if s := strings.Join(parts, " ... "); s != "" {
				return s
			}
		} else if v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}
