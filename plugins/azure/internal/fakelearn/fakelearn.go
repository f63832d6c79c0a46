// Package fakelearn is Microsoft Learn's MCP endpoint as Microsoft documents it,
// on loopback, for tests: Streamable HTTP with sessions, no GET, three tools
// that answer with JSON as text or with Markdown.
package fakelearn

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

const tools = `[
{"name":"microsoft_docs_search","title":"Search","description":"Search docs.","icons":[{"src":"data:image/png;base64,AAAA"}],"inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}},
{"name":"microsoft_code_sample_search","description":"Search code.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"language":{"type":"string"}},"required":["query"]}},
{"name":"microsoft_docs_fetch","description":"Read a page.","inputSchema":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}}]`

// What the tools answer with.
const (
	Pages   = `{"results":[{"title":"Rotate keys","content":"Use <two> keys & rotate.","contentUrl":"https://learn.microsoft.com/azure/storage/keys"}]}`
	Samples = `{"results":[{"description":"Regenerates a key.","codeSnippet":"az storage account keys renew","link":"https://learn.microsoft.com/cli","language":"azurecli"}]}`
	Page    = "# Rotate keys\n\nAll of it."
)

// Server is the endpoint.
type Server struct {
	URL string

	mu     sync.Mutex
	next   []http.HandlerFunc
	called []string
	stop   func()
}

// Start serves until the test ends.
func Start(t testing.TB) *Server {
	s := &Server{}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.URL, s.stop = srv.URL+"/api/mcp", srv.Close
	return s
}

// Stop ends the endpoint before the test does.
func (s *Server) Stop() { s.stop() }

// Next lets the next calls of tools be answered so.
func (s *Server) Next(answers ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, answers...)
}

// Called returns the params of all calls of tools since the last time.
func (s *Server) Called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	called := s.called
	s.called = nil
	return called
}

// Status answers with an HTTP status and no JSON-RPC.
func Status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// Result answers a call with a text.
func Result(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, _ := r.Context().Value(idKey{}).(json.RawMessage)
		quoted, _ := json.Marshal(text)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted)
	}
}

// idKey is under what an answer of Next finds the request's id.
type idKey struct{}

const session = "one-session"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if json.NewDecoder(r.Body).Decode(&msg) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	reply := func(member, value string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, msg.ID, member, value)
	}
	switch {
	case msg.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", session)
		reply("result", `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"Microsoft Learn MCP Server","version":"1.0.0"}}`)
	case r.Header.Get("Mcp-Session-Id") != session:
		w.WriteHeader(http.StatusBadRequest)
	case msg.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case msg.Method == "tools/list":
		reply("result", `{"tools":`+tools+`}`)
	case msg.Method == "tools/call":
		if next := s.take(string(msg.Params)); next != nil {
			next(w, r.WithContext(context.WithValue(r.Context(), idKey{}, msg.ID)))
			return
		}
		var call struct {
			Name      string
			Arguments map[string]string
		}
		_ = json.Unmarshal(msg.Params, &call)
		text, known := map[string]string{"microsoft_docs_search": Pages, "microsoft_code_sample_search": Samples, "microsoft_docs_fetch": Page}[call.Name]
		quoted, _ := json.Marshal(text)
		switch {
		case !known:
			reply("error", `{"code":-32602,"message":"Unknown tool"}`)
		case call.Name == "microsoft_docs_fetch" && call.Arguments["url"] != "https://learn.microsoft.com/azure/storage/keys":
			reply("result", `{"content":[{"type":"text","text":"The page was not found."}],"isError":true}`)
		default:
			reply("result", `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
		}
	default:
		reply("error", `{"code":-32601,"message":"Method not found"}`)
	}
}

func (s *Server) take(params string) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called = append(s.called, params)
	if len(s.next) == 0 {
		return nil
	}
	next := s.next[0]
	s.next = s.next[1:]
	return next
}
