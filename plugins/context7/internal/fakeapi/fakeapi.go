// Package fakeapi is Context7's REST API as its OpenAPI document describes it,
// on loopback, for tests: two endpoints, a few libraries, and every error body
// that the document shows.
package fakeapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Answer is one response.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
}

// Errors are the error bodies the API documents, by what they are examples of.
var Errors = map[string]Answer{
	"validation":     {400, nil, `{"error":"validation_error","message":"Library name is required"}`},
	"invalid id":     {400, nil, `{"error":"invalid_library_id","message":"Invalid library ID format. Expected: /owner/repo"}`},
	"invalid key":    {401, nil, `{"error":"invalid_api_key","message":"Invalid API key. Please check your API key. API keys should start with 'ctx7sk' prefix."}`},
	"spending limit": {402, nil, `{"error":"spending_limit_exceeded","message":"Monthly spending limit of $5.00 reached for this teamspace. An owner or admin can raise the limit at https://context7.com/dashboard/billing, or the cap will reset at the start of next month."}`},
	"access denied":  {403, nil, `{"error":"access_denied","message":"Access denied: Library /owner/repo is not included in your allowed libraries"}`},
	"plan required":  {403, nil, `{"error":"forbidden","message":"Private repositories require a pro plan or team. Upgrade at https://context7.com/plans"}`},
	"no library":     {404, nil, `{"error":"library_not_found","message":"Library \"/owner/repo\" not found. Please check the library ID or your access permissions."}`},
	"no tag":         {404, nil, `{"error":"tag_not_found","message":"Tag \"v1.0.0\" not found for library \"/owner/repo\". Available tags: v2.0.0, v1.5.0"}`},
	"no snippets":    {404, nil, `{"error":"no_snippets_found","message":"Could not fetch documentation snippets from the library."}`},
	"none found":     {404, nil, `{"error":"no_libraries_found","message":"No libraries found for \"nonexistent-lib\". Try a different search term."}`},
	"too large":      {422, nil, `{"error":"library_too_large","message":"Library /owner/repo is too large to process."}`},
	"no code":        {422, nil, `{"error":"no_code_found","message":"Library /owner/repo has no or too few snippets found in documentation files."}`},
	"rate limit":     {429, map[string]string{"Retry-After": "42", "RateLimit-Limit": "60", "RateLimit-Remaining": "0"}, `{"error":"rate_limit_exceeded","message":"Rate limit exceeded. Please try again later."}`},
	"quota":          {429, nil, `{"error":"quota_exceeded","message":"Monthly quota exceeded. Create a free API key at https://context7.com/dashboard for more."}`},
	"internal":       {500, nil, `{"error":"internal_error","message":"An error occurred while processing your request"}`},
	"bad gateway":    {502, map[string]string{"Content-Type": "text/html"}, "<html><body>Bad Gateway</body></html>"},
	"search failed":  {503, nil, `{"error":"search_failed","message":"Search failed: Service temporarily unavailable"}`},
	"timed out":      {504, nil, `{"error":"timeout","message":"Request timed out. Please try again."}`},
	"not finalized":  {202, nil, `{"error":"library_not_finalized","message":"Library /owner/repo not finalized yet."}`},
	"redirected":     {301, nil, `{"error":"library_redirected","message":"Library /owner/repo has been redirected to this library: /new-owner/new-repo.","redirectUrl":"/new-owner/new-repo"}`},
}

const libraries = `{"results":[
{"id":"/vercel/next-auth","title":"Next Auth","description":"Authentication for Next.js","branch":"main","lastUpdateDate":"2026-01-10T08:00:00.000Z","state":"finalized","totalTokens":1000,"totalSnippets":40,"stars":-1,"trustScore":9.1,"benchmarkScore":80,"versions":[]},
{"id":"/vercel/next.js","title":"Next.js","description":"The React framework","branch":"canary","lastUpdateDate":"2026-01-15T10:30:00.000Z","state":"finalized","totalTokens":500000,"totalSnippets":2500,"stars":130000,"trustScore":10,"benchmarkScore":95.5,"versions":["v14.3.0-canary.87","v15.1.8"]}
],"searchFilterApplied":false}`

const snippets = `{"codeSnippets":[{"codeTitle":"Middleware authentication","codeDescription":"Checks a cookie.","codeLanguage":"typescript","codeTokens":150,"codeId":"https://github.com/vercel/next.js/blob/canary/docs/middleware.mdx#_snippet_0","pageTitle":"Middleware","codeList":[{"language":"typescript","code":"export function middleware() {}"}]}],
"infoSnippets":[{"pageId":"https://github.com/vercel/next.js/blob/canary/docs/middleware.mdx","breadcrumb":"Routing > Middleware","content":"Middleware runs before a request is completed.","contentTokens":200}]}`

// Text is the documentation of every library as prose.
const Text = "### Middleware authentication\n\nSource: https://github.com/vercel/next.js/blob/canary/docs/middleware.mdx#_snippet_0\n\nChecks a cookie.\n\n```typescript\nexport function middleware() {}\n```"

// Server is the API.
type Server struct {
	URL string // what CONTEXT7_API_URL is set to

	mu      sync.Mutex
	next    map[string][]Answer
	got     []*http.Request
	stopped func()
}

// Start serves until the test ends.
func Start(t testing.TB) *Server {
	s := &Server{next: map[string][]Answer{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.URL, s.stopped = srv.URL+"/api", srv.Close
	return s
}

// Stop ends the server before the test does.
func (s *Server) Stop() { s.stopped() }

// Next lets "search" or "context" answer its next requests so.
func (s *Server) Next(endpoint string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[endpoint] = append(s.next[endpoint], answers...)
}

// Got returns the requests since the last call.
func (s *Server) Got() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write([]byte(a.Body))
}

func (s *Server) answer(r *http.Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, r)
	q := r.URL.Query()
	endpoint := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if queue := s.next[endpoint]; len(queue) > 0 {
		s.next[endpoint] = queue[1:]
		return queue[0]
	}
	switch {
	case r.Method != http.MethodGet || q.Get("query") == "":
		return Errors["validation"]
	case r.URL.Path == "/api/v2/libs/search" && q.Get("libraryName") == "nonexistent-lib":
		return Errors["none found"]
	case r.URL.Path == "/api/v2/libs/search" && q.Get("libraryName") != "":
		return Answer{200, nil, libraries}
	case r.URL.Path == "/api/v2/context" && strings.Count(q.Get("libraryId"), "/") < 2:
		return Errors["invalid id"]
	case r.URL.Path == "/api/v2/context" && q.Get("type") == "json":
		return Answer{200, nil, snippets}
	case r.URL.Path == "/api/v2/context":
		return Answer{200, map[string]string{"Content-Type": "text/plain"}, Text}
	default:
		return Answer{404, map[string]string{"Content-Type": "text/html"}, "<html>not here</html>"}
	}
}

// Message is the sentence in an error body.
func (a Answer) Message() string {
	var body struct{ Message string }
	_ = json.Unmarshal([]byte(a.Body), &body)
	return body.Message
}
