package provider

import (
	"context"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// Serper is serper.dev, which asks Google.
func Serper(client *http.Client, base, key string) Provider {
	s := &serper{base: base, key: key}
	s.exchange = exchange{name: "serper", client: client, read: s.errorOf}
	return s
}

type serper struct {
	exchange
	base, key string
}

func (s *serper) Name() string { return s.name }

type serperRequest struct {
	Query    string `json:"q"`
	Max      int    `json:"num"`
	Country  string `json:"gl,omitempty"`
	Language string `json:"hl,omitempty"`
	Time     string `json:"tbs,omitempty"`
}

func (s *serper) Search(ctx context.Context, q Query) (Answer, error) {
	req := serperRequest{Query: withSites(q), Max: q.Max, Country: strings.ToLower(q.Country), Language: q.Language}
	switch {
	case q.Fresh.isRange():
		const american = "1/2/2006"
		req.Time = "cdr:1,cd_min:" + q.Fresh.From.Format(american) + ",cd_max:" + q.Fresh.To.Format(american)
	case q.Fresh.Word != "":
		req.Time = "qdr:" + q.Fresh.Word[:1]
	}
	path, list := "/search", "organic"
	if q.News {
		path, list = "/news", "news"
	}
	raw, e := s.post(ctx, s.base+path, req, http.Header{"X-Api-Key": {s.key}})
	if e != nil {
		return Answer{}, e
	}
	var a Answer
	for _, r := range gjson.GetBytes(raw, list).Array() {
		a.Hits = append(a.Hits, Hit{
			Title: r.Get("title").String(), URL: r.Get("link").String(), Snippet: r.Get("snippet").String(),
			Published: r.Get("date").String(), News: q.News,
		})
	}
	return a, nil
}

// serperSpent is what Serper says beside 400 when there are no credits left: the
// status is that of a bad query, and there is no code.
const serperSpent = "not enough credits"

func (s *serper) errorOf(status int, h http.Header, body []byte) *Error {
	words := wordsOf(body)
	switch {
	case status == http.StatusBadRequest && strings.Contains(strings.ToLower(words), serperSpent):
		return s.quota(status, retryAfter(h), words)
	case status == http.StatusForbidden:
		return s.badKey(status, "the key is refused: set SERPER_API_KEY to one from serper.dev", words)
	}
	return nil
}
