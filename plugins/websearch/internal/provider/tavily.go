package provider

import (
	"context"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
)

// Tavily is the Tavily search API. An empty key is its keyless mode, which is
// called "tavily-keyless".
func Tavily(client *http.Client, base, key string) Provider {
	t := &tavily{base: base, key: key}
	name := "tavily"
	if key == "" {
		name = "tavily-keyless"
	}
	t.exchange = exchange{name: name, client: client, read: t.errorOf}
	return t
}

type tavily struct {
	exchange
	base, key string
}

func (t *tavily) Name() string { return t.name }

type tavilyRequest struct {
	Query     string   `json:"query"`
	Topic     string   `json:"topic"`
	Max       int      `json:"max_results"`
	TimeRange string   `json:"time_range,omitempty"`
	Start     string   `json:"start_date,omitempty"`
	End       string   `json:"end_date,omitempty"`
	Include   []string `json:"include_domains,omitempty"`
	Exclude   []string `json:"exclude_domains,omitempty"`
}

func (t *tavily) Search(ctx context.Context, q Query) (Answer, error) {
	req := tavilyRequest{Query: q.Text, Topic: "general", Max: q.Max, TimeRange: q.Fresh.Word, Include: q.Domains, Exclude: q.Exclude}
	if q.News {
		req.Topic = "news"
	}
	if q.Fresh.isRange() {
		req.Start, req.End = q.Fresh.From.Format(time.DateOnly), q.Fresh.To.Format(time.DateOnly)
	}
	var a Answer
	if q.Country != "" { // it wants the English name, and boosts only
		a.Ignored = append(a.Ignored, "country")
	}
	if q.Language != "" {
		a.Ignored = append(a.Ignored, "language")
	}
	header := http.Header{}
	if t.key != "" {
		header.Set("Authorization", "Bearer "+t.key)
	} else {
		header.Set("X-Tavily-Access-Mode", "keyless")
		header.Set("X-Client-Source", "collet")
	}
	raw, e := t.post(ctx, t.base+"/search", req, header)
	if e != nil {
		return Answer{}, e
	}
	for _, r := range gjson.GetBytes(raw, "results").Array() {
		h := Hit{
			Title: r.Get("title").String(), URL: r.Get("url").String(), Snippet: r.Get("content").String(),
			Published: r.Get("published_date").String(), News: q.News,
		}
		if n := r.Get("score"); n.Type == gjson.Number {
			h.Score = new(n.Num)
		}
		a.Hits = append(a.Hits, h)
	}
	return a, nil
}

// Tavily's statuses for a used up plan, and for a limit of paying as one goes.
const (
	tavilyPlan  = 432
	tavilyPayGo = 433
)

func (t *tavily) errorOf(status int, h http.Header, body []byte) *Error {
	if e := keylessLimit(t.exchange, status, body); e != nil {
		return e
	}
	switch status {
	case tavilyPlan, tavilyPayGo:
		return t.quota(status, retryAfter(h), wordsOf(body))
	case http.StatusUnauthorized, http.StatusForbidden:
		if t.key != "" {
			return t.badKey(status, "the key is refused: set TAVILY_API_KEY to one from app.tavily.com", wordsOf(body))
		}
	}
	return nil
}

// keylessLimit reads the envelope of the keyless limit, which also comes as a success:
// an error with a code and what to do next. It is nil for anything else.
func keylessLimit(x exchange, status int, body []byte) *Error {
	e := gjson.GetBytes(body, "error")
	if !gjson.ValidBytes(body) || e.Get("code").Type != gjson.String || !e.Get("next_actions").IsArray() {
		return nil
	}
	if reset := seconds(e.Get("retry_after_seconds").Num); reset > 0 {
		return x.busy(status, reset, e.Get("message").String())
	}
	return x.quota(status, 0, e.Get("message").String())
}
