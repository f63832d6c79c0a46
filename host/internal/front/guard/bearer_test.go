package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

// record sends a request without a connection.
func record(g *guard.Guard, path string, ctx context.Context) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, nil)
	if ctx != nil {
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	g.Wrap(http.HandlerFunc(echo)).ServeHTTP(w, r)
	return w
}

func TestEveryMethodIsAuthenticated(t *testing.T) {
	p := serve(t, guard.Options{
		Auth: []guard.Authenticator{tokens{canary: owner("a")}}, Open: []string{"/healthz"},
		Limits: guard.Limits{FailuresBurst: 1000}, // which has a test of its own
	}, echo)
	for _, path := range []string{"/mcp", "/", "/sse", "/mcp/message?sessionId=1", "/healthz/", "/healthz/x", "/metrics", "//healthz"} {
		for _, method := range everyMethod {
			resp, body := p.do(t, method, path)
			if got := p.denials.take(); resp.StatusCode != 401 || got != method+" no_token" || resp.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s without a token: %d %s, counted %q", method, path, resp.StatusCode, body, got)
			}
			resp, _ = p.do(t, method, path, "Authorization: Bearer "+canary)
			if resp.StatusCode != 200 {
				t.Errorf("%s %s with a token: %d", method, path, resp.StatusCode)
			}
		}
	}
	if resp, body := p.do(t, "GET", "/healthz"); resp.StatusCode != 200 || body != secret+" for nobody" {
		t.Errorf("an open path: %d %s", resp.StatusCode, body)
	}
}

func TestBearer(t *testing.T) {
	p := serve(t, guard.Options{
		Limits: guard.Limits{FailuresBurst: 1000},
		Auth: []guard.Authenticator{
			tokens{canary: owner("a")},
			tokens{
				"short":          owner("b"),
				canary + "old":   {err: &guard.Refusal{Reason: guard.Expired, Message: "The token has expired."}},
				canary + "scope": {err: &guard.Refusal{Reason: guard.BadScope, Message: "A scope.", Scopes: []string{"x", "y"}}},
				canary + "later": {err: errors.New("the issuer cannot be reached")},
				canary + "iss":   {err: &guard.Refusal{Reason: guard.Expired, Message: "Expired."}},
			},
			tokens{canary + "iss": {err: &guard.Refusal{Reason: guard.BadIssuer, Message: "Another issuer."}}},
		},
	}, echo)
	for _, test := range []struct {
		lines  []string
		status int
		reason string
		oauth  string
	}{
		{[]string{"Authorization: Bearer " + canary}, 200, "", ""},
		{[]string{"Authorization: bearer " + canary}, 200, "", ""},
		{[]string{"Authorization: BEARER   " + canary + " "}, 200, "", ""},
		{[]string{"Authorization: Bearer short"}, 200, "", ""},

		{nil, 401, "no_token", ""},
		{[]string{"Authorization: Basic " + canary}, 401, "no_token", ""},
		{[]string{"Authorization: " + canary}, 401, "no_token", ""},
		{[]string{"Authorization: Bearer" + canary}, 401, "no_token", ""},
		{[]string{"Proxy-Authorization: Bearer " + canary}, 401, "no_token", ""},
		{[]string{"Cookie: token=" + canary}, 401, "no_token", ""},
		{[]string{"Authorization: Bearer"}, 400, "malformed", "invalid_request"},
		{[]string{"Authorization: Bearer a b"}, 400, "malformed", "invalid_request"},
		{[]string{"Authorization: Bearer caf\u00e9"}, 400, "malformed", "invalid_request"},
		{[]string{"Authorization: Bearer " + strings.Repeat("a", 17<<10)}, 400, "malformed", "invalid_request"},
		{[]string{"Authorization: Bearer " + canary, "Authorization: Bearer " + canary}, 400, "malformed", "invalid_request"},
		{[]string{"Authorization: Bearer " + canary + "x"}, 401, "unknown_token", "invalid_token"},
		{[]string{"Authorization: Bearer " + canary[1:]}, 401, "unknown_token", "invalid_token"},
		{[]string{"Authorization: Bearer " + strings.ToUpper(canary)}, 401, "unknown_token", "invalid_token"},
		{[]string{"Authorization: Bearer " + canary + "old"}, 401, "expired", "invalid_token"},
		{[]string{"Authorization: Bearer " + canary + "iss"}, 401, "expired", "invalid_token"},
		{[]string{"Authorization: Bearer " + canary + "scope"}, 403, "scope", "insufficient_scope"},
		{[]string{"Authorization: Bearer " + canary + "later"}, 503, "undecided", ""},
	} {
		resp, body := p.do(t, "POST", "/mcp", test.lines...)
		challenge := resp.Header.Get("WWW-Authenticate")
		reason := strings.TrimPrefix(p.denials.take(), "POST ")
		if resp.StatusCode != test.status || reason != test.reason || strings.Contains(challenge, "error=") != (test.oauth != "") || !strings.Contains(challenge, test.oauth) {
			t.Errorf("%.60q: %d %s, challenge %q; want %d %s with %q", test.lines, resp.StatusCode, reason, challenge, test.status, test.reason, test.oauth)
		}
		if test.status >= 400 {
			message(t, body)
		}
		if test.status == 401 && !strings.HasPrefix(challenge, "Bearer ") {
			t.Errorf("%.60q: 401 without a challenge", test.lines)
		}
		if test.status == 403 && !strings.Contains(challenge, `scope="x y"`) {
			t.Errorf("the challenge does not name the scopes: %s", challenge)
		}
	}
	resp, _ := p.do(t, "GET", "/sse?access_token="+canary)
	if got := p.denials.take(); resp.StatusCode != 400 || got != "GET malformed" {
		t.Errorf("a token in the URL: %d, counted %s", resp.StatusCode, got)
	}
}

func TestNothingOfTheCredentialIsPassedOn(t *testing.T) {
	var seen http.Header
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{canary: owner("a")}}, Open: []string{"/healthz"}},
		func(_ http.ResponseWriter, r *http.Request) { seen = r.Header })
	for _, path := range []string{"/mcp", "/healthz"} {
		p.do(t, "POST", path, "Authorization: Bearer "+canary, "Cookie: a="+canary, "Proxy-Authorization: Basic "+canary, "X-Other: kept")
		for name, values := range seen {
			if strings.Contains(strings.Join(values, " "), canary) {
				t.Errorf("%s: the handler sees the token in %s", path, name)
			}
		}
		if seen.Get("X-Other") != "kept" {
			t.Errorf("%s: another header is gone", path)
		}
	}
}

func TestMetadata(t *testing.T) {
	for _, test := range []struct {
		opt       guard.Options
		host      string
		challenge string
		paths     map[string]string // to the resource that is named there
	}{
		{guard.Options{}, "localhost:PORT", "http://localhost:PORT/.well-known/oauth-protected-resource/mcp", map[string]string{
			"/.well-known/oauth-protected-resource/mcp": "http://localhost:PORT/mcp",
			"/.well-known/oauth-protected-resource":     "http://localhost:PORT",
		}},
		{guard.Options{Resource: "https://mcp.example.com/team/mcp", Hosts: []string{"mcp.example.com"}}, "mcp.example.com",
			"https://mcp.example.com/.well-known/oauth-protected-resource/team/mcp", map[string]string{
				"/.well-known/oauth-protected-resource/team/mcp": "https://mcp.example.com/team/mcp",
				"/.well-known/oauth-protected-resource/mcp":      "https://mcp.example.com/team/mcp",
				"/.well-known/oauth-protected-resource":          "https://mcp.example.com",
			}},
		{guard.Options{Resource: "https://mcp.example.com/"}, "localhost:PORT",
			"https://mcp.example.com/.well-known/oauth-protected-resource", map[string]string{
				"/.well-known/oauth-protected-resource": "https://mcp.example.com",
			}},
	} {
		opt := test.opt
		opt.Auth = []guard.Authenticator{tokens{}}
		opt.Issuers = []string{"https://login.example.com"}
		opt.Scopes = []string{"mcp:tools", "offline_access"}
		p := serve(t, opt, echo)
		resp, _ := p.do(t, "POST", "/mcp", "Host: "+test.host)
		want := `Bearer resource_metadata="` + strings.ReplaceAll(test.challenge, ":PORT", p.port()) + `", scope="mcp:tools offline_access"`
		if got := resp.Header.Get("WWW-Authenticate"); got != want {
			t.Errorf("challenge %s\nwant      %s", got, want)
		}
		for path, resource := range test.paths {
			resp, body := p.do(t, "GET", path, "Host: "+test.host)
			var m struct {
				Resource string   `json:"resource"`
				Servers  []string `json:"authorization_servers"`
				Scopes   []string `json:"scopes_supported"`
				Methods  []string `json:"bearer_methods_supported"`
			}
			if err := json.Unmarshal([]byte(body), &m); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s: %d %s", path, resp.StatusCode, body)
			}
			if want := strings.ReplaceAll(resource, ":PORT", p.port()); m.Resource != want || len(m.Servers) != 1 || m.Servers[0] != "https://login.example.com" ||
				len(m.Scopes) != 2 || len(m.Methods) != 1 || m.Methods[0] != "header" {
				t.Errorf("%s: %+v; want resource %s", path, m, want)
			}
			p.denials.take()
			if resp, _ := p.do(t, "POST", path, "Host: "+test.host); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" || p.denials.take() != "POST method" {
				t.Errorf("POST %s: %d; want 405", path, resp.StatusCode)
			}
		}
	}
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{}}}, echo)
	if resp, _ := p.do(t, "GET", "/.well-known/oauth-protected-resource/mcp"); resp.StatusCode != 404 {
		t.Errorf("metadata without an issuer: %d; want 404", resp.StatusCode)
	}
	if resp, _ := p.do(t, "POST", "/mcp"); resp.Header.Get("WWW-Authenticate") != `Bearer realm="collet"` {
		t.Errorf("challenge without an issuer: %s", resp.Header.Get("WWW-Authenticate"))
	}
}
