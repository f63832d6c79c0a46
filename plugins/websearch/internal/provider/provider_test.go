package provider

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/plugins/websearch/internal/fakesearch"
	"github.com/collet-dev/collet/sdk/failure"
)

// open returns the provider of that name before its fake.
func open(name, base, key string) Provider {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	switch name {
	case "brave":
		return Brave(client, base, key)
	case "tavily":
		return Tavily(client, base, key)
	case "exa":
		return Exa(client, base, key)
	case "serper":
		return Serper(client, base, key)
	}
	return SearXNG(client, base)
}

// fake is the service behind a provider's name.
func fake(name string) string { return strings.TrimSuffix(name, "-keyless") }

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestWhatIsSentAndFound(t *testing.T) {
	full := Query{
		Text: "collet", Max: 7, Fresh: Freshness{Word: "week"}, Domains: []string{"example.org", "example.com"},
		Exclude: []string{"bad.example"}, Country: "DE", Language: "de",
	}
	between := Query{Text: "collet", Max: 5, News: true, Fresh: Freshness{From: date("2026-01-02"), To: date("2026-02-03")}}
	const sites = "collet (site:example.org OR site:example.com) -site:bad.example"
	for _, c := range []struct {
		name   string
		query  Query
		path   string
		params string // exactly these, as JSON; dates of now are cut off
		hits   int
		first  Hit
		more   bool
		ignore string
	}{
		{"brave", full, "/res/v1/web/search", `{"count":"7","country":"DE","freshness":"pw","q":"` + sites + `","result_filter":"web","search_lang":"de","text_decorations":"false"}`, 3,
			Hit{Title: "The <strong>collet</strong>", URL: "https://www.example.org/a?utm_source=x", Snippet: "A sleeve that <b>grips</b> tools &amp; more.", Published: "2026-11-03T10:00:00"}, true, ""},
		{"brave", between, "/res/v1/news/search", `{"count":"5","freshness":"2026-01-02to2026-02-03","q":"collet","text_decorations":"false"}`, 1,
			Hit{Title: "Collet <strong>ships</strong>", URL: "https://news.example/a", Snippet: "It &amp; more.", Published: "2026-11-28T08:00:00", News: true}, false, ""},
		{"searxng", full, "/search", `{"categories":"general","format":"json","language":"de-DE","q":"` + sites + `","time_range":"week"}`, 2,
			Hit{Title: "Collet", URL: "https://example.org/c", Snippet: "Holds tools."}, false, ""},
		{"searxng", between, "/search", `{"categories":"news","format":"json","q":"collet"}`, 2,
			Hit{Title: "Collet", URL: "https://example.org/c", Snippet: "Holds tools."}, false, "freshness"},
		{"tavily", full, "/search", `{"exclude_domains":["bad.example"],"include_domains":["example.org","example.com"],"max_results":7,"query":"collet","time_range":"week","topic":"general"}`, 1,
			Hit{Title: "Collets", URL: "https://example.org/t", Snippet: "What they are.", Published: "Sat, 28 Nov 2026 07:00:00 GMT"}, false, "country,language"},
		{"tavily", between, "/search", `{"end_date":"2026-02-03","max_results":5,"query":"collet","start_date":"2026-01-02","topic":"news"}`, 1,
			Hit{Title: "Collets", URL: "https://example.org/t", Snippet: "What they are.", Published: "Sat, 28 Nov 2026 07:00:00 GMT", News: true}, false, ""},
		{"exa", between, "/search", `{"category":"news","contents":{"highlights":true},"endPublishedDate":"2026-02-04T00:00:00Z","numResults":5,"query":"collet","startPublishedDate":"2026-01-02T00:00:00Z","type":"auto"}`, 1,
			Hit{Title: "Collet chucks", URL: "https://example.org/e", Snippet: "They grip. ... They centre.", Published: "2026-10-01T00:00:00.000Z", News: true}, false, ""},
		{"serper", full, "/search", `{"gl":"de","hl":"de","num":7,"q":"` + sites + `","tbs":"qdr:w"}`, 1,
			Hit{Title: "Collet", URL: "https://example.org/s", Snippet: "Grips.", Published: "Nov 3, 2026"}, false, ""},
		{"serper", between, "/news", `{"num":5,"q":"collet","tbs":"cdr:1,cd_min:1/2/2026,cd_max:2/3/2026"}`, 1,
			Hit{Title: "N", URL: "https://news.example/s", Snippet: "S", Published: "3 hours ago", News: true}, false, ""},
	} {
		t.Run(c.name+c.path, func(t *testing.T) {
			f := fakesearch.Start(t, c.name)
			a, err := open(c.name, f.URL, fakesearch.Key).Search(t.Context(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			seen := f.Seen()
			params, _ := json.Marshal(seen[0].Params)
			params = []byte(strings.NewReplacer(`\u0026`, "&").Replace(string(params)))
			if len(seen) != 1 || seen[0].Path != c.path || string(params) != c.params {
				t.Errorf("sent %s %s\nwant %s %s", seen[0].Path, params, c.path, c.params)
			}
			if len(a.Hits) != c.hits || a.More != c.more || strings.Join(a.Ignored, ",") != c.ignore {
				t.Fatalf("answer %+v", a)
			}
			a.Hits[0].Score = nil
			if a.Hits[0] != c.first {
				t.Errorf("first hit %+v\nwant %+v", a.Hits[0], c.first)
			}
		})
	}
}

func TestKeylessSaysSo(t *testing.T) {
	f := fakesearch.Start(t, "tavily")
	p := open("tavily", f.URL, "")
	if p.Name() != "tavily-keyless" {
		t.Errorf("name %q", p.Name())
	}
	if _, err := p.Search(t.Context(), Query{Text: "x", Max: 1}); err != nil {
		t.Fatal(err)
	}
	if h := f.Seen()[0].Header; h.Get("Authorization") != "" || h.Get("X-Tavily-Access-Mode") != "keyless" {
		t.Errorf("header %v", h)
	}
}

func TestEveryDocumentedError(t *testing.T) {
	const month = 1419704 * time.Second
	for _, c := range []struct {
		provider, name string
		reply          fakesearch.Reply
		reason         Reason
		class          failure.Class
		reset          time.Duration
		says           string
	}{
		{"brave", "bad key", fakesearch.BraveBadKey, BadKey, failure.AuthFailure, 0, "set BRAVE_API_KEY"},
		{"brave", "no key", fakesearch.BraveNoKey, BadKey, failure.AuthFailure, 0, "set BRAVE_API_KEY"},
		{"brave", "bad query", fakesearch.BraveBadQuery, BadQuery, failure.InvalidArguments, 0, "Unable to validate"},
		{"brave", "rate", fakesearch.BraveRate, Busy, failure.RateLimited, time.Second, "rate limit exceeded"},
		{"brave", "quota", fakesearch.BraveQuota, Quota, failure.RateLimited, month, "quota is used up"},
		{"brave", "quota in a list", fakesearch.BraveQuotaList, Quota, failure.RateLimited, 0, "quota is used up"},
		{"brave", "no plan", fakesearch.BraveNoPlan, BadKey, failure.AuthFailure, 0, "no subscription"},
		{"tavily", "bad key", fakesearch.TavilyBadKey, BadKey, failure.AuthFailure, 0, "set TAVILY_API_KEY"},
		{"tavily", "bad query", fakesearch.TavilyBadQuery, BadQuery, failure.InvalidArguments, 0, "Invalid topic"},
		{"tavily", "forbidden", fakesearch.TavilyForbidden, BadKey, failure.AuthFailure, 0, "not supported"},
		{"tavily", "rate", fakesearch.TavilyRate, Busy, failure.RateLimited, 0, "excessive requests"},
		{"tavily", "plan", fakesearch.TavilyPlan, Quota, failure.RateLimited, 0, "plan's set usage limit"},
		{"tavily", "pay as you go", fakesearch.TavilyPayGo, Quota, failure.RateLimited, 0, "pay-as-you-go"},
		{"tavily", "server", fakesearch.TavilyServer, Broken, failure.ServerError, 0, "500"},
		{"tavily-keyless", "limit", fakesearch.TavilyKeyless, Busy, failure.RateLimited, 30 * time.Minute, "Keyless limit"},
		{"tavily-keyless", "limit as success", fakesearch.TavilyKeyless0, Quota, failure.RateLimited, 0, "Keyless limit"},
		{"exa", "bad key", fakesearch.ExaBadKey, BadKey, failure.AuthFailure, 0, "Invalid API key"},
		{"exa", "credits", fakesearch.ExaCredits, Quota, failure.RateLimited, 0, "credits limit"},
		{"exa", "rate", fakesearch.ExaRate, Busy, failure.RateLimited, 0, "5 requests per second"},
		{"exa", "bad query", fakesearch.ExaBadQuery, BadQuery, failure.InvalidArguments, 0, "Invalid request body"},
		{"exa", "server", fakesearch.ExaServer, Broken, failure.ServerError, 20 * time.Second, "(a page of HTML)"},
		{"searxng", "no JSON", fakesearch.SearXNGNoJSON, BadKey, failure.AuthFailure, 0, "search.formats"},
		{"searxng", "limiter", fakesearch.SearXNGLimiter, Busy, failure.RateLimited, 0, "Too Many Requests"},
		{"searxng", "engines blocked", fakesearch.SearXNGBlocked, Broken, failure.ServerError, 0, "google (access denied), duckduckgo (CAPTCHA)"},
		{"serper", "bad key", fakesearch.SerperBadKey, BadKey, failure.AuthFailure, 0, "set SERPER_API_KEY"},
		{"serper", "credits", fakesearch.SerperCredits, Quota, failure.RateLimited, 0, "Not enough credits"},
		{"serper", "bad query", fakesearch.SerperBadQuery, BadQuery, failure.InvalidArguments, 0, "Missing query"},
		{"serper", "rate", fakesearch.SerperRate, Busy, failure.RateLimited, 0, "Too many requests"},
		{"serper", "redirect", fakesearch.Reply{Status: 302, Header: map[string]string{"Location": "https://elsewhere.example/"}}, Broken, failure.InvalidResult, 0, "redirect"},
		{"brave", "quota as success", as(200, fakesearch.BraveQuota), Quota, failure.RateLimited, month, "quota is used up"},
		{"exa", "an error as success", fakesearch.Reply{Status: 200, Body: `{"error":"Internal failure","tag":"X"}`}, Broken, failure.ServerError, 0, "an error in place of results: Internal failure"},
		{"searxng", "errors as success", fakesearch.Reply{Status: 200, Body: `{"errors":[{"detail":"down"}]}`}, Broken, failure.ServerError, 0, "an error in place of results: down"},
		{"exa", "no JSON", fakesearch.Reply{Status: 200, Body: "<html>login</html>"}, Broken, failure.InvalidResult, 0, "not a JSON object"},
		{"exa", "a list", fakesearch.Reply{Status: 200, Body: "[]"}, Broken, failure.InvalidResult, 0, "not a JSON object"},
	} {
		t.Run(c.provider+" "+c.name, func(t *testing.T) {
			f := fakesearch.Start(t, fake(c.provider))
			f.Next(c.reply)
			key := fakesearch.Key
			if fake(c.provider) != c.provider {
				key = ""
			}
			_, err := open(fake(c.provider), f.URL, key).Search(t.Context(), Query{Text: "x", Max: 5})
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if e.Reason != c.reason || e.Failure.Class != c.class || e.Reset != c.reset || !strings.Contains(e.Error(), c.says) {
				t.Errorf("reason %d class %s reset %s: %v\nwant   %d       %s       %s: ...%s...", e.Reason, e.Failure.Class, e.Reset, e, c.reason, c.class, c.reset, c.says)
			}
			if !strings.HasPrefix(e.Error(), c.provider) || e.Failure.Delivery != failure.Answered || e.Failure.UpstreamCode != c.reply.Status {
				t.Errorf("failure %+v", e.Failure)
			}
			if strings.Contains(e.Error(), fakesearch.Key) {
				t.Errorf("the error tells the key: %v", e)
			}
			if n := len(f.Seen()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// as is a reply with another status.
func as(status int, r fakesearch.Reply) fakesearch.Reply {
	r.Status = status
	return r
}

func TestNothingFoundIsAnAnswer(t *testing.T) {
	f := fakesearch.Start(t, "searxng")
	f.Next(fakesearch.SearXNGNothing)
	a, err := open("searxng", f.URL, "").Search(t.Context(), Query{Text: "x", Max: 5})
	if err != nil || len(a.Hits) != 0 {
		t.Errorf("answer %+v, error %v", a, err)
	}
}

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := open("brave", s.URL, "secret-key").Search(t.Context(), Query{Text: "what was asked", Max: 5})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != Broken || e.Failure.Class != failure.ConnectionRefused || e.Failure.Delivery != failure.NotSent {
		t.Fatalf("error %+v", err)
	}
	if strings.Contains(e.Error(), "asked") || strings.Contains(e.Error(), "secret-key") {
		t.Errorf("the error tells the query or the key: %v", e)
	}
}

func TestBraveKeepsItsPace(t *testing.T) {
	f := fakesearch.Start(t, "brave")
	p := open("brave", f.URL, fakesearch.Key)
	for range 10 { // the first answer allows 50 a second
		if _, err := p.Search(t.Context(), Query{Text: "x", Max: 1}); err != nil {
			t.Fatal(err)
		}
	}
	slow := p.(*brave)
	slow.learn(http.Header{"X-Ratelimit-Limit": {"1, 15000"}})
	if slow.pace.Limit() != 1 || slow.pace.Burst() != 1 {
		t.Errorf("pace %v, %d", slow.pace.Limit(), slow.pace.Burst())
	}
}

func TestFreshness(t *testing.T) {
	for _, s := range []string{"", "day", "week", "month", "year", "2026-01-01..2026-01-01"} {
		if _, err := ParseFreshness(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"hour", "..", "2026-01-02..2026-01-01", "2026-01-01", "2026-01-01..", "2026-13-01..2026-14-01", "Day"} {
		if f, err := ParseFreshness(s); err == nil {
			t.Errorf("%q is %+v, want an error", s, f)
		}
	}
}

// FuzzAnswers: whatever a service writes, with whichever status, is an answer or an
// error with a failure.
func FuzzAnswers(f *testing.F) {
	for _, r := range []fakesearch.Reply{fakesearch.BraveQuotaList, fakesearch.TavilyKeyless0, fakesearch.SearXNGBlocked, fakesearch.SerperCredits} {
		f.Add(r.Status, r.Body, "1, 2")
	}
	f.Add(200, `{"results":[{"title":1,"url":[],"highlights":{"a":null},"score":1e999}],"web":{"results":"x"},"organic":[[]]}`, "-1, x")
	f.Add(429, "", "1e400")
	var reply fakesearch.Reply
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range reply.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(reply.Status)
		_, _ = w.Write([]byte(reply.Body))
	}))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, status int, body, header string) {
		status = 200 + (status%400+400)%400
		if status == 204 || status == 304 || strings.ContainsAny(header, "\r\n\x00") {
			return // no body, no header
		}
		reply = fakesearch.Reply{Status: status, Body: body, Header: map[string]string{"X-RateLimit-Reset": header, "Retry-After": header}}
		for _, name := range []string{"brave", "tavily", "exa", "serper", "searxng"} {
			_, err := open(name, s.URL, "k").Search(t.Context(), Query{Text: "x", Max: 5})
			if err == nil {
				continue
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Failure == nil || e.Failure.Message == "" || e.Reset < 0 || e.Failure.RetryAfter < 0 {
				t.Errorf("%s: error %+v", name, err)
			}
		}
	})
}
