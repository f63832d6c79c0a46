package provider

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/websearch/internal/fakesearch"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

func over(t *testing.T, f *fakesearch.MCP, tool string) *Server {
	t.Helper()
	s := MCP(Remote{Name: "x", At: mcp.Endpoint{URL: f.URL, Header: http.Header{}}, Tool: tool, Timeout: time.Minute})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestMCPServers(t *testing.T) {
	for _, c := range []struct {
		name, tools, answer, tool string
		sent                      string
		hits                      []Hit
	}{
		{"exa", fakesearch.ExaTool, fakesearch.ExaAnswer, "", `web_search_exa {"numResults":4,"query":"collet site"}`, []Hit{
			{Title: "Collets", URL: "https://example.org/x", Snippet: "They grip. All around.", Published: "2026-11-03T00:00:00.000Z"}, {Title: "More", URL: "https://example.org/y", Snippet: "Second."}}},
		{"parallel", fakesearch.ParallelTool, fakesearch.ParallelAnswer, "web_search", `web_search {"search_queries":["collet site"]}`, []Hit{
			{Title: "P", URL: "https://example.org/p", Snippet: "a ... b", Published: "2026-11-03"}}},
		{"structured", fakesearch.ExaTool, `{"content":[],"structuredContent":{"results":[{"name":"N","link":"https://example.org/l"}]}}`, "", `web_search_exa {"numResults":4,"query":"collet site"}`, []Hit{{Title: "N", URL: "https://example.org/l"}}},
		{"nothing", fakesearch.ExaTool, `{"content":[{"type":"text","text":"No search results found. Please try a different query."}]}`, "", `web_search_exa {"numResults":4,"query":"collet site"}`, nil},
		{"an empty list", fakesearch.ExaTool, `{"content":[{"type":"text","text":"{\"results\":[]}"}]}`, "", `web_search_exa {"numResults":4,"query":"collet site"}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakesearch.StartMCP(t, c.tools, c.answer)
			p := over(t, f, c.tool)
			for range 2 { // the second time over the same connection
				a, err := p.Search(t.Context(), Query{Text: "collet site", Max: 4, News: true, Country: "DE"})
				if err != nil {
					t.Fatal(err)
				}
				for i := range a.Hits {
					a.Hits[i].Snippet = strings.TrimSpace(a.Hits[i].Snippet)
				}
				if len(a.Hits) != len(c.hits) || strings.Join(a.Ignored, " ") != "country kind" {
					t.Fatalf("answer %+v", a)
				}
				for i, h := range a.Hits {
					if h != c.hits[i] {
						t.Errorf("hit %+v, want %+v", h, c.hits[i])
					}
				}
			}
			if got := gjson.Get(f.Calls[1], "name").Str + " " + gjson.Get(f.Calls[1], "arguments").Raw; got != c.sent || p.Name() != "mcp:x" {
				t.Errorf("%s sent %s, want %s", p.Name(), got, c.sent)
			}
		})
	}
}

func TestMCPErrors(t *testing.T) {
	for _, c := range []struct {
		name, tools, answer, tool string
		refuse                    *fakesearch.Reply
		reason                    Reason
		class                     failure.Class
		reset                     time.Duration
		says                      string
	}{
		{"free limit", fakesearch.ExaTool, "", "", &fakesearch.Reply{Status: 429, Header: map[string]string{"Retry-After": "60", "Content-Type": "application/json"}, Body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"You've hit Exa's free MCP rate limit."}}`},
			Busy, failure.RateLimited, time.Minute, ""},
		{"login", fakesearch.ExaTool, "", "", &fakesearch.Reply{Status: 401}, BadKey, failure.AuthFailure, 0, ""},
		{"down", fakesearch.ExaTool, "", "", &fakesearch.Reply{Status: 500}, Broken, failure.ServerError, 0, ""},
		{"failed", fakesearch.ExaTool, `{"content":[{"type":"text","text":"Search error (500): broken"}],"isError":true}`, "", nil, Broken, failure.ServerError, 0, "its tool failed: Search error (500): broken"},
		{"limit as success", fakesearch.ExaTool, `{"content":[{"type":"text","text":"{\"error\":{\"code\":\"keyless_limit\",\"message\":\"Enough.\",\"retry_after_seconds\":9,\"next_actions\":[]}}"}]}`, "", nil, Busy, failure.RateLimited, 9 * time.Second, "Enough."},
		{"prose", fakesearch.ExaTool, `{"content":[{"type":"text","text":"Here is what I think."}]}`, "", nil, Broken, failure.InvalidResult, 0, "cannot be read"},
		{"no such tool", fakesearch.ExaTool, "", "find", nil, Broken, failure.NotFound, 0, "it has web_search_exa, web_fetch_exa"},
		{"wrong tool", fakesearch.ExaTool, "", "web_fetch_exa", nil, Broken, failure.InvalidResult, 0, "cannot be used to search"},
		{"no tool", `{"name":"echo","inputSchema":{"type":"object"}}`, "", "", nil, Broken, failure.NotFound, 0, "none of its tools"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakesearch.StartMCP(t, c.tools, c.answer)
			f.Refuse = c.refuse
			_, err := over(t, f, c.tool).Search(t.Context(), Query{Text: "q", Max: 4})
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Reason != c.reason || e.Failure.Class != c.class || e.Reset.Round(time.Second) != c.reset || !strings.Contains(e.Error(), c.says) || !strings.HasPrefix(e.Error(), "mcp:x: ") {
				t.Errorf("error %+v (%+v), want %d %s", e, err, c.reason, c.class)
			}
		})
	}
}

// FuzzMCPAnswer: whatever a tool answers is hits or an error.
func FuzzMCPAnswer(f *testing.F) {
	f.Add(fakesearch.ExaAnswer)
	f.Add(fakesearch.ParallelAnswer)
	f.Add(`{"content":[{"type":"text","text":"Title:\nURL:\nText:\n:\nTitle"}],"structuredContent":{"results":{"a":[]}}}`)
	s := MCP(Remote{Name: "x"})
	f.Fuzz(func(t *testing.T, raw string) {
		if !gjson.Valid(raw) {
			return
		}
		if _, e := s.answer([]byte(raw)); e != nil && e.Failure.Message == "" {
			t.Errorf("error %+v", e)
		}
	})
}
