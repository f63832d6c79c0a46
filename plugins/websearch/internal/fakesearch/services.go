package fakesearch

import (
	"net/http"
	"strings"
)

// wantKey refuses everything but Key in a header.
func wantKey(header, prefix string, bad Reply) func(http.Header) *Reply {
	return func(h http.Header) *Reply {
		if h.Get(header) == prefix+Key {
			return nil
		}
		return &bad
	}
}

var services = []service{
	{
		name: "brave", method: http.MethodGet, paths: []string{"/res/v1/web/search", "/res/v1/news/search"},
		params: []string{"q", "count", "offset", "country", "search_lang", "freshness", "safesearch", "text_decorations", "extra_snippets", "result_filter"},
		refuse: wantKey("X-Subscription-Token", "", BraveBadKey),
		header: map[string]string{
			"X-RateLimit-Limit": "50, 15000", "X-RateLimit-Policy": "50;w=1, 15000;w=2592000",
			"X-RateLimit-Remaining": "49, 14999", "X-RateLimit-Reset": "1, 1419704",
		},
		answer: func(path string) string {
			if strings.Contains(path, "news") {
				return `{"type":"news","query":{"original":"q"},"results":[
					{"title":"Collet <strong>ships</strong>","url":"https://news.example/a","description":"It &amp; more.","age":"2 days ago","page_age":"2026-11-28T08:00:00","meta_url":{"hostname":"news.example"}}]}`
			}
			return `{"type":"search","query":{"original":"q","more_results_available":true},"mixed":{"type":"mixed"},"web":{"type":"search","results":[
				{"title":"The <strong>collet</strong>","url":"https://www.example.org/a?utm_source=x","description":"A sleeve that <b>grips</b> tools &amp; more.","age":"November 3, 2026","page_age":"2026-11-03T10:00:00","language":"en","meta_url":{"hostname":"www.example.org"}},
				{"title":"The same","url":"http://example.org/a/#part","description":"again"},
				{"title":"Chucks","url":"https://tools.example.com/chuck","description":"Three jaws."}]}}`
		},
	},
	{
		name: "searxng", method: http.MethodGet, paths: []string{"/search"},
		params: []string{"q", "format", "categories", "language", "pageno", "time_range", "safesearch", "engines"},
		answer: func(string) string {
			return `{"query":"q","number_of_results":0,"results":[
				{"title":"Collet","url":"https://example.org/c","content":"Holds tools.","engine":"bing","engines":["bing","brave"],"category":"general","score":2.5,"positions":[1,2],"publishedDate":null,"template":"default.html","parsed_url":["https","example.org","/c","","",""]},
				{"title":"News of it","url":"https://news.example/n","content":"Today.","engine":"bing news","engines":["bing news"],"category":"news","score":1,"positions":[1],"publishedDate":"2026-11-29T00:00:00","template":"default.html","parsed_url":["https","news.example","/n","","",""]}],
				"answers":[],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[["qwant","CAPTCHA"]]}`
		},
	},
	{
		name: "tavily", method: http.MethodPost, paths: []string{"/search"},
		params: []string{"query", "topic", "search_depth", "max_results", "time_range", "start_date", "end_date", "days", "include_domains", "exclude_domains", "country", "include_answer", "include_raw_content"},
		refuse: func(h http.Header) *Reply {
			if h.Get("Authorization") == "Bearer "+Key || h.Get("Authorization") == "" && h.Get("X-Tavily-Access-Mode") == "keyless" && h.Get("X-Client-Source") != "" {
				return nil
			}
			return &TavilyBadKey
		},
		answer: func(string) string {
			return `{"query":"q","answer":null,"images":[],"results":[
				{"title":"Collets","url":"https://example.org/t","content":"What they are.","score":0.91,"raw_content":null,"published_date":"Sat, 28 Nov 2026 07:00:00 GMT"}],"response_time":0.9,"request_id":"r1"}`
		},
	},
	{
		name: "exa", method: http.MethodPost, paths: []string{"/search"},
		params: []string{"query", "type", "category", "numResults", "includeDomains", "excludeDomains", "startPublishedDate", "endPublishedDate", "userLocation", "contents"},
		refuse: wantKey("X-Api-Key", "", ExaBadKey),
		answer: func(string) string {
			return `{"requestId":"r","resolvedSearchType":"neural","searchType":"auto","results":[
				{"id":"https://example.org/e","title":"Collet chucks","url":"https://example.org/e","publishedDate":"2026-10-01T00:00:00.000Z","author":"A","score":0.3,"highlights":["They grip.","They centre."],"favicon":"https://example.org/f.ico"}],"costDollars":{"total":0.005}}`
		},
	},
	{
		name: "serper", method: http.MethodPost, paths: []string{"/search", "/news"},
		params: []string{"q", "num", "page", "gl", "hl", "tbs"},
		refuse: wantKey("X-Api-Key", "", SerperBadKey),
		answer: func(path string) string {
			if path == "/news" {
				return `{"searchParameters":{"q":"q","type":"news"},"news":[{"title":"N","link":"https://news.example/s","snippet":"S","date":"3 hours ago","source":"News"}],"credits":1}`
			}
			return `{"searchParameters":{"q":"q","type":"search"},"organic":[{"title":"Collet","link":"https://example.org/s","snippet":"Grips.","position":1,"date":"Nov 3, 2026"}],"peopleAlsoAsk":[],"credits":1}`
		},
	},
}

// Documented refusals, by service.
var (
	BraveBadKey     = Reply{Status: 422, Body: `{"type":"ErrorResponse","id":"1","status":422,"time":1,"error":{"id":"1","code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid.","status":422,"meta":{"component":"authentication"}}}`}
	BraveNoKey      = Reply{Status: 422, Body: `{"type":"ErrorResponse","time":1,"error":{"id":"1","code":"VALIDATION","detail":"Unable to validate request parameter(s)","status":422,"meta":{"errors":[{"type":"missing","loc":["header","x-subscription-token"],"msg":"Field required"}]}}}`}
	BraveBadQuery   = Reply{Status: 422, Body: `{"type":"ErrorResponse","time":1,"error":{"id":"1","code":"VALIDATION","detail":"Unable to validate request parameter(s)","status":422,"meta":{"errors":[{"type":"too_long","loc":["query","q"]}]}}}`}
	BraveRate       = Reply{Status: 429, Header: map[string]string{"X-RateLimit-Limit": "1, 15000", "X-RateLimit-Remaining": "0, 14999", "X-RateLimit-Reset": "1, 1419704"}, Body: `{"type":"ErrorResponse","time":1,"error":{"id":"1","code":"RATE_LIMITED","detail":"Request rate limit exceeded for plan","status":429,"meta":{"plan":"Free","rate_limit":1,"rate_current":1,"component":"rate_limiter"}}}`}
	BraveQuota      = Reply{Status: 429, Header: map[string]string{"X-RateLimit-Reset": "1, 1419704"}, Body: `{"type":"ErrorResponse","time":1,"error":{"id":"1","code":"QUOTA_LIMITED","detail":"Request quota limit exceeded for plan","status":429,"meta":{"quota_limit":2000,"component":"rate_limiter"}}}`}
	BraveQuotaList  = Reply{Status: 429, Body: `{"type":"ErrorResponse","time":1,"errors":[{"id":"1","code":"QUOTA_LIMITED","detail":"Request quota limit exceeded for plan","status":429}]}`}
	BraveNoPlan     = Reply{Status: 404, Body: `{"type":"ErrorResponse","time":1,"error":{"id":"1","code":"SUBSCRIPTION_NOT_FOUND","detail":"No subscription for this resource.","status":404}}`}
	TavilyBadKey    = Reply{Status: 401, Body: `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`}
	TavilyBadQuery  = Reply{Status: 400, Body: `{"detail":{"error":"Invalid topic. Must be 'general' or 'news'."}}`}
	TavilyForbidden = Reply{Status: 403, Body: `{"detail":{"error":"This URL is not supported."}}`}
	TavilyRate      = Reply{Status: 429, Body: `{"detail":{"error":"Your request has been blocked due to excessive requests."}}`}
	TavilyPlan      = Reply{Status: 432, Body: `{"detail":{"error":"This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com"}}`}
	TavilyPayGo     = Reply{Status: 433, Body: `{"detail":{"error":"This request exceeds the pay-as-you-go limit."}}`}
	TavilyServer    = Reply{Status: 500, Body: `{"detail":{"error":"Internal Server Error"}}`}
	TavilyKeyless   = Reply{Status: 429, Body: `{"error":{"code":"keyless_limit_reached","message":"Keyless limit reached.","window":"hour","retry_after_seconds":1800,"next_actions":[{"type":"signup","url":"https://app.tavily.com"}]}}`}
	TavilyKeyless0  = Reply{Status: 200, Body: `{"error":{"code":"keyless_limit_reached","message":"Keyless limit reached.","window":"month","retry_after_seconds":null,"next_actions":[{"type":"signup"}]}}`}
	ExaBadKey       = Reply{Status: 401, Body: `{"requestId":"r","error":"Invalid API key","tag":"INVALID_API_KEY"}`}
	ExaCredits      = Reply{Status: 402, Body: `{"requestId":"r","error":"You have exceeded your credits limit.","tag":"NO_MORE_CREDITS"}`}
	ExaRate         = Reply{Status: 429, Body: `{"error":"You've exceeded your Exa rate limit of 5 requests per second."}`}
	ExaBadQuery     = Reply{Status: 400, Body: `{"requestId":"r","error":"Invalid request body","tag":"INVALID_REQUEST_BODY"}`}
	ExaServer       = Reply{Status: 503, Header: map[string]string{"Retry-After": "20"}, Body: `<html>unavailable</html>`}
	SearXNGNoJSON   = Reply{Status: 403, Body: "<!doctype html>\n<title>403 Forbidden</title>\n<h1>Forbidden</h1>"}
	SearXNGLimiter  = Reply{Status: 429, Body: "Too Many Requests"}
	SearXNGBlocked  = Reply{Status: 200, Body: `{"query":"q","results":[],"answers":[],"unresponsive_engines":[["google","access denied"],["duckduckgo","CAPTCHA"]]}`}
	SearXNGNothing  = Reply{Status: 200, Body: `{"query":"q","results":[],"answers":[],"unresponsive_engines":[]}`}
	SerperBadKey    = Reply{Status: 403, Body: `{"message":"Unauthorized.","statusCode":403}`}
	SerperCredits   = Reply{Status: 400, Body: `{"message":"Not enough credits","statusCode":400}`}
	SerperBadQuery  = Reply{Status: 400, Body: `{"message":"Missing query parameter","statusCode":400}`}
	SerperRate      = Reply{Status: 429, Body: `{"message":"Too many requests","statusCode":429}`}
)
