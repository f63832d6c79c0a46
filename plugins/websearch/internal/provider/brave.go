package provider

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/time/rate"

	"github.com/collet-dev/collet/sdk/failure"
)

// Where the services are reached.
const (
	BraveURL  = "https://api.search.brave.com"
	TavilyURL = "https://api.tavily.com"
	ExaURL    = "https://api.exa.ai"
	SerperURL = "https://google.serper.dev"
)

// Brave's own bounds of a query.
const (
	braveChars = 400
	braveWords = 50
)

// Brave is the Brave Search API, version 1.
func Brave(client *http.Client, base, key string) Provider {
	b := &brave{base: base, key: key, pace: rate.NewLimiter(1, 1)}
	b.exchange = exchange{name: "brave", client: client, read: b.errorOf, heard: b.learn}
	return b
}

type brave struct {
	exchange
	base, key string
	// pace is what the plan allows a second: one on the smallest, until an answer
	// says what it is.
	pace *rate.Limiter
}

// learn reads X-RateLimit-Limit, "50, 0": requests a second, and a month.
func (b *brave) learn(h http.Header) {
	first, _, _ := strings.Cut(h.Get("X-RateLimit-Limit"), ",")
	if n, err := strconv.ParseUint(strings.TrimSpace(first), 10, 16); err == nil && n > 0 {
		b.pace.SetLimit(rate.Limit(n))
		b.pace.SetBurst(int(n))
	}
}

func (b *brave) Name() string { return b.name }

func (b *brave) Search(ctx context.Context, q Query) (Answer, error) {
	text := withSites(q)
	if len([]rune(text)) > braveChars || len(strings.Fields(text)) > braveWords {
		return Answer{}, b.badQuery(0, "it takes at most 400 characters and 50 words, domains included")
	}
	v := url.Values{"q": {text}, "count": {strconv.Itoa(q.Max)}, "text_decorations": {"false"}}
	if q.Country != "" {
		v.Set("country", q.Country)
	}
	if q.Language != "" {
		v.Set("search_lang", q.Language)
	}
	switch {
	case q.Fresh.isRange():
		v.Set("freshness", q.Fresh.From.Format(time.DateOnly)+"to"+q.Fresh.To.Format(time.DateOnly))
	case q.Fresh.Word != "":
		v.Set("freshness", "p"+q.Fresh.Word[:1]) // pd, pw, pm, py
	}
	path, list := "/res/v1/web/search", "web.results"
	if q.News {
		path, list = "/res/v1/news/search", "results"
	} else {
		v.Set("result_filter", "web")
	}
	if err := b.pace.Wait(ctx); err != nil {
		return Answer{}, b.broken(failure.Timeout, failure.NotSent, 0, "brave: its plan allows %v requests a second, and there is no time left to wait for a turn", b.pace.Limit())
	}
	raw, e := b.get(ctx, b.base+path, v, http.Header{"X-Subscription-Token": {b.key}})
	if e != nil {
		return Answer{}, e
	}
	a := Answer{More: gjson.GetBytes(raw, "query.more_results_available").Bool()}
	for _, r := range gjson.GetBytes(raw, list).Array() {
		published := r.Get("page_age").String()
		if published == "" {
			published = r.Get("age").String()
		}
		a.Hits = append(a.Hits, Hit{
			Title: r.Get("title").String(), URL: r.Get("url").String(), Snippet: r.Get("description").String(),
			Published: published, News: q.News,
		})
	}
	return a, nil
}

// errorOf tells by code what Brave's statuses do not: a bad key is 422, and 429
// is a pause or the end of the month. The documentation shows a list named errors,
// the service sends error.
func (b *brave) errorOf(status int, h http.Header, body []byte) *Error {
	e := gjson.GetBytes(body, "error")
	if !e.IsObject() {
		e = gjson.GetBytes(body, "errors.0")
	}
	words := e.Get("detail").String()
	switch code := e.Get("code").String(); {
	case code == "SUBSCRIPTION_TOKEN_INVALID":
		return b.badKey(status, "the key is not valid: set BRAVE_API_KEY to one from api-dashboard.search.brave.com", words)
	case code == "SUBSCRIPTION_NOT_FOUND":
		return b.badKey(status, "the key has no subscription for this search", words)
	case code == "QUOTA_LIMITED":
		_, month := braveReset(h)
		return b.quota(status, month, words)
	case status == http.StatusTooManyRequests:
		soon, _ := braveReset(h)
		return b.busy(status, max(soon, retryAfter(h)), words)
	case code == "VALIDATION" && strings.Contains(strings.ToLower(e.Get("meta").Raw), "x-subscription-token"):
		return b.badKey(status, "the key is missing: set BRAVE_API_KEY", words)
	}
	return nil
}

// braveReset reads X-RateLimit-Reset, "1, 1419704": seconds until the window of a
// second and the one of the month begin anew.
func braveReset(h http.Header) (second, month time.Duration) {
	first, last, _ := strings.Cut(h.Get("X-RateLimit-Reset"), ",")
	read := func(s string) time.Duration {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return 0
		}
		return seconds(n)
	}
	return read(first), read(last)
}
