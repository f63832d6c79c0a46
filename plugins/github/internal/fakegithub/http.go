// Package fakegithub is GitHub's hosted MCP server for tests: its headers, its
// statuses, its texts, and repositories in memory. It keeps no sessions, as the
// real one, and speaks 2026-07-28 or only 2025-11-25. It is never part of a program.
package fakegithub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxBody is where the real server closes the connection, in bytes.
const maxBody = 5 << 20

// Server is one running fake. Its fields may be set before the first request.
type Server struct {
	URL string
	// Old is a server that does not know 2026-07-28.
	Old bool
	// Answer, when it returns true, replaces the answer of a tool.
	Answer func(tool string, args json.RawMessage) (text string, isError, ok bool)
	// Lose, when it returns true, closes the connection in place of the answer:
	// after the tool ran, or before when ran is false.
	Lose func(tool string, ran bool) bool

	http *httptest.Server
	mu   sync.Mutex
	seen []http.Header
	Git
}

// New starts a fake until Close.
func New() *Server {
	s := &Server{}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/mcp/"
	return s
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// Seen are the headers of all requests so far.
func (s *Server) Seen() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

var tokens = regexp.MustCompile(`^Bearer (gh[opus]_\w+|github_pat_\w+|[0-9a-f]{40})$`)

// Tokens with a meaning. Every other well-formed one is accepted.
const (
	Revoked = "ghp_revoked" // 401
	Scant   = "gho_scant"   // 403 with a challenge for a scope
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Header.Clone())
	s.mu.Unlock()
	metadata := `resource_metadata="` + s.http.URL + `/.well-known/oauth-protected-resource"`
	auth := r.Header.Get("Authorization")
	switch {
	case auth == "", auth == "Bearer "+Revoked:
		w.Header().Set("WWW-Authenticate", "Bearer "+metadata)
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	case !tokens.MatchString(auth):
		http.Error(w, "bad request: Authorization header is badly formatted", http.StatusBadRequest)
		return
	case auth == "Bearer "+Scant:
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="repo read:org", `+metadata)
		http.Error(w, "Forbidden", http.StatusForbidden)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // the real one closes the connection, too
	}
	offered, unknown := s.offered(r.Header)
	if unknown != "" {
		http.Error(w, "unknown tools specified in WithTools: "+unknown, http.StatusBadRequest)
		return
	}
	s.answer(w, r, body, offered)
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
	} `json:"params"`
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte, offered []tool) {
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "malformed payload", http.StatusBadRequest)
		return
	}
	if len(in.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	modern := r.Header.Get("Mcp-Protocol-Version") == "2026-07-28"
	if modern && s.Old {
		http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
		return
	}
	fail := func(status, code int, message string) {
		reply(w, status, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, in.ID, code, message))
	}
	ok := func(result string) {
		reply(w, http.StatusOK, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result))
	}
	const server = `"capabilities":{"tools":{}},"serverInfo":{"name":"github-mcp-server","title":"GitHub MCP Server","version":"1.10.1"}`
	switch in.Method {
	case "server/discover":
		ok(`{"supportedVersions":["2026-07-28","2025-11-25"],` + server + `}`)
	case "initialize":
		ok(`{"protocolVersion":"2025-11-25",` + server + `}`)
	case "tools/list":
		list := []string{}
		for _, t := range offered {
			list = append(list, t.definition)
		}
		ok(`{"tools":[` + strings.Join(list, ",") + `]}`)
	case "tools/call":
		i := slices.IndexFunc(offered, func(t tool) bool { return t.name == in.Params.Name })
		if i < 0 {
			fail(http.StatusBadRequest, -32602, "unknown tool \""+in.Params.Name+"\"")
			return
		}
		if h := mismatch(r.Header, in.Params.Arguments); modern && offered[i].headers && h != "" {
			fail(http.StatusBadRequest, -32020, "missing required header: "+h)
			return
		}
		ok(s.call(offered[i], in.Params.Arguments))
	default:
		fail(http.StatusOK, -32601, "method not found")
	}
}

// mismatch is a header that has to repeat an argument and does not.
func mismatch(h http.Header, args json.RawMessage) string {
	var in struct{ Owner, Repo string }
	_ = json.Unmarshal(args, &in)
	switch {
	case h.Get("Mcp-Param-Owner") != in.Owner:
		return "Mcp-Param-owner"
	case h.Get("Mcp-Param-Repo") != in.Repo:
		return "Mcp-Param-repo"
	}
	return ""
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (s *Server) call(t tool, args json.RawMessage) string {
	if s.Answer != nil {
		if text, isError, ok := s.Answer(t.name, args); ok {
			return result(text, isError)
		}
	}
	if s.Lose != nil && s.Lose(t.name, false) {
		panic(http.ErrAbortHandler)
	}
	text, err := t.run(&s.Git, args)
	if s.Lose != nil && s.Lose(t.name, true) {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		return result(err.Error(), true)
	}
	return result(text, false)
}

func result(text string, isError bool) string {
	out := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	if isError {
		out["isError"] = true
	}
	b, _ := json.Marshal(out)
	return string(b)
}

// offered are the tools that the headers leave, or one that they name and nobody knows.
func (s *Server) offered(h http.Header) (list []tool, unknown string) {
	csv := func(name string) []string {
		if h.Get(name) == "" {
			return nil
		}
		return strings.Split(h.Get(name), ",")
	}
	sets, names, without := csv("X-Mcp-Toolsets"), csv("X-Mcp-Tools"), csv("X-Mcp-Exclude-Tools")
	for _, n := range names {
		if !slices.ContainsFunc(tools, func(t tool) bool { return t.name == n }) {
			return nil, n
		}
	}
	readonly := !slices.Contains([]string{"", "false", "f", "no", "n", "0", "off"}, strings.ToLower(h.Get("X-Mcp-Readonly")))
	for _, t := range tools {
		in := slices.Contains(names, t.name) || slices.Contains(sets, t.set) || slices.Contains(sets, "all") || len(names)+len(sets) == 0
		if in && !slices.Contains(without, t.name) && !(readonly && !t.reads) {
			list = append(list, t)
		}
	}
	return list, ""
}
