package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// treasury is a host with tokens, used up from the front as they are rejected.
type treasury struct {
	adapterpb.UnimplementedHostServer
	mu     sync.Mutex
	tokens []string
	asked  []string // "resource rejected challenge"
}

func (h *treasury) Token(_ context.Context, req *adapterpb.TokenRequest) (*adapterpb.TokenResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, fmt.Sprintf("%s %s %s", req.GetResource(), req.GetRejected(), req.GetChallenge()))
	h.tokens = slices.DeleteFunc(h.tokens, func(t string) bool { return t == req.GetRejected() })
	if len(h.tokens) == 0 {
		return nil, failure.ToStatus(failure.New(failure.AuthFailure, failure.NotSent, "run: collet auth login n"))
	}
	return &adapterpb.TokenResponse{Token: h.tokens[0], Scheme: "Bearer"}, nil
}

// wants is an MCP server that serves requests with one Authorization header only, "" for
// any, and challenges others.
func wants(t *testing.T, authorization, challenge string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got := r.Header.Get("Authorization"); authorization != "" && got != authorization {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		result := map[string]string{
			"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
			"tools/list":      `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
			"tools/call":      `{"content":[]}`,
		}[m.Method]
		w.Header().Set("Content-Type", "application/json")
		if result == "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// Requests are sent with tokens of the host: where it has some, where the server wants
// them, and where the settings say nothing else.
func TestTokens(t *testing.T) {
	const bearer = `Bearer resource_metadata="x"`
	for name, c := range map[string]struct {
		server, challenge string
		tokens            []string
		headers           map[string]string
		asked             string // of the first requests, URL aside
		failed            string // the start's failure holds this
	}{
		"the first is good":       {"Bearer a", bearer, []string{"a"}, nil, " ", ""},
		"the first has ended":     {"Bearer b", bearer, []string{"a", "b"}, nil, " |a " + bearer, ""},
		"none is wanted":          {"", "", nil, nil, " ", ""},
		"none is there":           {"Bearer a", bearer, nil, nil, " | " + bearer, "run: collet auth login n"},
		"without a challenge":     {"Bearer a", "", nil, nil, " | ", "run: collet auth login n"},
		"another kind is wanted":  {"Basic eDp5", `Basic realm="x"`, []string{"a"}, nil, " ", "the server wants credentials (401 Unauthorized)"},
		"the settings have their": {"Bearer own", bearer, []string{"a"}, map[string]string{"Authorization": "Bearer own"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := wants(t, c.server, c.challenge)
			host := &treasury{tokens: c.tokens}
			p := startPlugin(t)
			id, err := p.ServeHost(host)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(config{URL: srv.URL + "/mcp", Headers: c.headers})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Configure(within(t), &adapterpb.ConfigureRequest{Server: "n", Config: raw, HostService: id, HostFeatures: []string{"token"}}); err != nil {
				t.Fatal(err)
			}
			_, err = p.ListTools(within(t), &adapterpb.ListToolsRequest{})
			f := failure.FromStatus(err)
			switch {
			case c.failed == "" && err != nil:
				t.Error(err)
			case c.failed != "" && (f == nil || f.Class != failure.AuthFailure || f.UpstreamCode != http.StatusUnauthorized || !strings.Contains(f.Message, c.failed)):
				t.Errorf("got %v", err)
			}
			if c.failed == "" {
				p.mustCall(t, "t", `{}`)
			}
			host.mu.Lock()
			defer host.mu.Unlock()
			want := strings.Split(c.asked, "|")
			if c.asked == "" {
				want = nil
			}
			if len(host.asked) < len(want) || want == nil && host.asked != nil {
				t.Fatalf("the host was asked %q, want %q first", host.asked, want)
			}
			for i, w := range want {
				if host.asked[i] != srv.URL+"/mcp "+w {
					t.Errorf("the host was asked %q, want %q first", host.asked, want)
				}
			}
			if name == "none is wanted" && len(host.asked) != 1 {
				t.Errorf("the host was asked %q for what nobody wants", host.asked)
			}
		})
	}
}
