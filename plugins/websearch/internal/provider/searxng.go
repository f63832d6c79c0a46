package provider

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// SearXNG is a SearXNG instance, which somebody runs. Base is where its start
// page is.
func SearXNG(client *http.Client, base string) Provider {
	s := &searxng{base: strings.TrimRight(base, "/")}
	s.exchange = exchange{name: "searxng", client: client, read: s.errorOf}
	return s
}

type searxng struct {
	exchange
	base string
}

func (s *searxng) Name() string { return s.name }

func (s *searxng) Search(ctx context.Context, q Query) (Answer, error) {
	v := url.Values{"q": {withSites(q)}, "format": {"json"}, "categories": {"general"}}
	if q.News {
		v.Set("categories", "news")
	}
	var a Answer
	switch {
	case q.Fresh.isRange():
		a.Ignored = append(a.Ignored, "freshness")
	case q.Fresh.Word != "":
		v.Set("time_range", q.Fresh.Word)
	}
	switch {
	case q.Language != "" && q.Country != "":
		v.Set("language", q.Language+"-"+q.Country)
	case q.Language != "":
		v.Set("language", q.Language)
	case q.Country != "":
		a.Ignored = append(a.Ignored, "country") // it has regions of a language only
	}
	raw, e := s.get(ctx, s.base+"/search", v, http.Header{})
	if e != nil {
		return Answer{}, e
	}
	results := gjson.GetBytes(raw, "results").Array()
	a.More = len(results) > q.Max
	for _, r := range results {
		h := Hit{
			Title: r.Get("title").String(), URL: r.Get("url").String(), Snippet: r.Get("content").String(),
			Published: r.Get("publishedDate").String(), News: r.Get("category").String() == "news",
		}
		if n := r.Get("score"); n.Type == gjson.Number {
			h.Score = new(n.Num)
		}
		a.Hits = append(a.Hits, h)
	}
	// Nothing found is an answer, unless there were engines that could not be asked:
	// then nobody knows.
	if dead := gjson.GetBytes(raw, "unresponsive_engines").Array(); len(results) == 0 && len(dead) > 0 {
		var why []string
		for _, d := range dead {
			why = append(why, fmt.Sprintf("%s (%s)", d.Get("0").String(), d.Get("1").String()))
		}
		return Answer{}, s.broken(failure.ServerError, failure.Answered, http.StatusOK, "searxng: no results, and its engines do not answer: %s", quote(strings.Join(why, ", ")))
	}
	return a, nil
}

// errorOf knows the two refusals of SearXNG: of JSON, which its settings leave out
// by default, and of its limiter.
func (s *searxng) errorOf(status int, h http.Header, body []byte) *Error {
	switch status {
	case http.StatusForbidden:
		return s.refused(BadKey, failure.AuthFailure, failure.Answered, status, 0, "searxng refuses to answer in JSON: add json to search.formats in the settings.yml of the instance")
	case http.StatusTooManyRequests:
		return s.busy(status, retryAfter(h), wordsOf(body))
	}
	return nil
}
