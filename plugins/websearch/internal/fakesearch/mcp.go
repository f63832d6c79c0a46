package fakesearch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The tools of the hosted MCP servers, as they list them, and how they answer.
const (
	ExaTool        = `{"name":"web_search_exa","description":"Search the web.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"query":{"type":"string"},"numResults":{"type":"number"}},"required":["query"]}},{"name":"web_fetch_exa","inputSchema":{"type":"object","properties":{"urls":{"type":"array"}},"required":["urls"]}}`
	ExaAnswer      = `{"content":[{"type":"text","text":"Title: Collets\nURL: https://example.org/x\nPublished: 2026-11-03T00:00:00.000Z\nAuthor: N/A\nHighlights:\nThey grip.\nAll around.\n\nTitle: More\nURL: https://example.org/y\nText: Second."}]}`
	ParallelTool   = `{"name":"web_search","inputSchema":{"type":"object","properties":{"objective":{"type":"string"},"search_queries":{"type":"array","items":{"type":"string"}}},"required":["search_queries"]}}`
	ParallelAnswer = `{"content":[{"type":"text","text":"{\"search_id\":\"s\",\"results\":[{\"url\":\"https://example.org/p\",\"title\":\"P\",\"publish_date\":\"2026-11-03\",\"excerpts\":[\"a\",\"b\"]}]}"}]}`
)

// MCP is a search server over MCP, of revision 2025-11-25 and without sessions. It
// answers calls with Answer, or with Refuse where that is set.
type MCP struct {
	URL    string
	Tools  string
	Answer string
	Refuse *Reply
	Calls  []string // params of tools/call, as they came
}

// StartMCP runs the server until the test ends. Its fields may be changed between
// searches.
func StartMCP(t testing.TB, tools, answer string) *MCP {
	t.Helper()
	m := &MCP{Tools: tools, Answer: answer}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

func (m *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &req) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result := ""
	switch req.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
	case "tools/list":
		result = `{"tools":[` + m.Tools + `]}`
	case "tools/call":
		m.Calls = append(m.Calls, string(req.Params))
		result = m.Answer
		if m.Refuse != nil {
			for name, value := range m.Refuse.Header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(m.Refuse.Status)
			_, _ = io.WriteString(w, m.Refuse.Body)
			return
		}
	}
	if len(req.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if result == "" {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, req.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}
