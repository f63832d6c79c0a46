package guard_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

var everyMethod = []string{"GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"}

// The paths that answer somebody without a credential too.
var everyPath = []string{"/mcp", "/healthz", "/", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"}

func TestHostOnEveryPathAndMethod(t *testing.T) {
	p := serve(t, guard.Options{
		Auth: []guard.Authenticator{tokens{canary: owner("a")}}, Open: []string{"/healthz"},
		Issuers: []string{"https://login.example.com"}, Origins: []string{"https://app.example.com"},
	}, echo)
	for _, path := range everyPath {
		for _, method := range everyMethod {
			for _, line := range []string{"Host: evil.example:PORT", "Origin: http://evil.example", "Origin: null"} {
				resp, _ := p.do(t, method, path, line, "Authorization: Bearer "+canary)
				want := method + " host"
				if strings.HasPrefix(line, "Origin") {
					want = method + " origin"
				}
				if got := p.denials.take(); resp.StatusCode != 403 || got != want {
					t.Errorf("%s %s with %s: %d, counted %q; want 403 and %q", method, path, line, resp.StatusCode, got, want)
				}
			}
		}
	}
}

func TestHost(t *testing.T) {
	p := serve(t, guard.Options{Hosts: []string{"mcp.example.com", "Proxy.example.com:8443", "[2001:db8::1]:9000"}}, echo)
	for host, want := range map[string]int{
		"localhost:PORT": 200, "LocalHost:PORT": 200, "127.0.0.1:PORT": 200, "[::1]:PORT": 200,
		"mcp.example.com": 200, "mcp.example.com:443": 200, "mcp.example.com:80": 200, "proxy.example.com:8443": 200,
		"[2001:db8::1]:9000": 200, "[2001:DB8:0::1]:9000": 200,

		"localhost": 403, "localhost:1": 403, "127.0.0.1": 403, "evil.example": 403, "evil.example:PORT": 403,
		"localhost.evil.example:PORT": 403, "evil-localhost:PORT": 403, "localhost.:PORT": 403,
		"127.0.0.1.evil.example:PORT": 403, "0.0.0.0:PORT": 403, "[::]:PORT": 403, "127.1:PORT": 403, "2130706433:PORT": 403,
		"127.0.0.2:PORT": 403, "::1:PORT": 403, "[::1]": 403, "[::ffff:127.0.0.1]:PORT": 200, "[fe80::1%25lo]:PORT": 403,
		"mcp.example.com:8080": 403, "proxy.example.com": 403, "proxy.example.com:443": 403, "sub.mcp.example.com": 403,
		"localhost:PORT:PORT": 403, "localhost:0": 403, "localhost:+1": 403,
	} {
		resp, body := p.do(t, "POST", "/mcp", "Host: "+host)
		if resp.StatusCode != want {
			t.Errorf("Host %s: %d; want %d", host, resp.StatusCode, want)
		}
		if want == 403 && !strings.Contains(message(t, body), "allowed hosts") {
			t.Errorf("Host %s: the answer does not say what helps: %s", host, body)
		}
	}
}

func TestOrigin(t *testing.T) {
	p := serve(t, guard.Options{
		Hosts:   []string{"mcp.example.com"},
		Origins: []string{"https://app.example.com", "http://localhost:6274", "https://other.example.com:443", "chrome-extension://abcdef"},
	}, echo)
	for _, test := range []struct {
		lines []string
		want  int
	}{
		{nil, 200},
		{[]string{"Origin: http://localhost:PORT"}, 200},
		{[]string{"Origin: http://127.0.0.1:PORT"}, 200},
		{[]string{"Origin: http://[::1]:PORT"}, 200},
		{[]string{"Origin: https://mcp.example.com"}, 200},
		{[]string{"Origin: https://app.example.com"}, 200},
		{[]string{"Origin: https://app.example.com", "Sec-Fetch-Site: cross-site"}, 200},
		{[]string{"Origin: http://localhost:6274"}, 200},
		{[]string{"Origin: https://other.example.com"}, 200},
		{[]string{"Origin: chrome-extension://abcdef"}, 200},
		{[]string{"Sec-Fetch-Site: none"}, 200},
		{[]string{"Sec-Fetch-Site: same-origin"}, 200},

		{[]string{"Origin: null"}, 403},
		{[]string{"Origin: "}, 403},
		{[]string{"Origin: http://localhost"}, 403},
		{[]string{"Origin: http://localhost:1"}, 403},
		{[]string{"Origin: http://localhost:6275"}, 403},
		{[]string{"Origin: http://app.example.com"}, 403}, // the scheme is part of it
		{[]string{"Origin: https://app.example.com:8443"}, 403},
		{[]string{"Origin: https://app.example.com.evil.example"}, 403},
		{[]string{"Origin: https://evil.example"}, 403},
		{[]string{"Origin: https://app.example.com/"}, 403},
		{[]string{"Origin: https://user@app.example.com"}, 403},
		{[]string{"Origin: file://"}, 403},
		{[]string{"Origin: chrome-extension://abc"}, 403},
		{[]string{"Origin: chrome-extension://localhost:PORT"}, 403},
		{[]string{"Origin: abcdef://abcdef"}, 403},
		{[]string{"Origin: HTTP://localhost:PORT"}, 403}, // browsers write it small
		{[]string{"Origin: app.example.com"}, 403},
		{[]string{"Origin: https://app.example.com, https://evil.example"}, 403},
		{[]string{"Origin: https://app.example.com", "Origin: https://evil.example"}, 403},
		{[]string{"Sec-Fetch-Site: cross-site"}, 403},
		{[]string{"Sec-Fetch-Site: same-site"}, 403},
	} {
		resp, _ := p.do(t, "POST", "/mcp", test.lines...)
		if resp.StatusCode != test.want {
			t.Errorf("%q: %d; want %d", test.lines, resp.StatusCode, test.want)
		}
	}
}

func TestPagesOfAllowedOrigins(t *testing.T) {
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{canary: owner("a")}}, Origins: []string{"https://app.example.com"}}, echo)
	preflight := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization, mcp-param-x"}

	resp, body := p.do(t, "OPTIONS", "/mcp", append(preflight, "Origin: https://app.example.com")...)
	if h := resp.Header; resp.StatusCode != 204 || body != "" || h.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		h.Get("Access-Control-Allow-Headers") != "authorization, mcp-param-x" || h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight of an allowed origin: %d, %v", resp.StatusCode, resp.Header)
	}
	resp, _ = p.do(t, "OPTIONS", "/mcp", "Origin: https://app.example.com", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: a; b")
	if resp.Header.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("a header that is no list of names is sent back: %q", resp.Header.Get("Access-Control-Allow-Headers"))
	}
	for _, lines := range [][]string{preflight, append(preflight, "Origin: http://localhost:PORT"), {"Origin: https://app.example.com"}} {
		resp, _ := p.do(t, "OPTIONS", "/mcp", lines...)
		if resp.StatusCode != 401 {
			t.Errorf("OPTIONS with %q and no token: %d; want 401", lines, resp.StatusCode)
		}
	}
	resp, _ = p.do(t, "POST", "/mcp", "Origin: https://app.example.com", "Authorization: Bearer "+canary)
	if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("a page of an allowed origin cannot read the answer: %d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = p.do(t, "POST", "/mcp", "Authorization: Bearer "+canary)
	if got := resp.Header.Values("Access-Control-Allow-Origin"); len(got) != 0 {
		t.Errorf("CORS headers without an origin: %v", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, opt := range map[string]guard.Options{
		"allowed":             {Hosts: []string{"*"}},
		"patterns":            {Hosts: []string{"*.example.com"}},
		"80 or 443":           {Hosts: []string{"http://mcp.example.com"}},
		"no origin":           {Origins: []string{"*"}},
		"without a path":      {Origins: []string{"https://app.example.com/x"}},
		"nobody":              {Origins: []string{"null"}},
		"nil":                 {Auth: []guard.Authenticator{nil}},
		"the endpoint":        {Endpoint: "mcp"},
		"open path":           {Open: []string{"healthz"}},
		"without a query":     {Resource: "https://x/mcp?a=b"},
		"always has a limit":  {Limits: guard.Limits{Body: -1}},
		"no scope":            {Scopes: []string{"a b"}},
		"the issuer":          {Issuers: []string{"login.example.com"}},
		"client could send":   {Resource: "https://exa mple/mcp"},
		"is no URL of an end": {Resource: "mcp"},
	} {
		if _, err := guard.New(opt); err == nil || !strings.Contains(err.Error(), name) && name != "client could send" {
			t.Errorf("%+v: %v; want an error with %q", opt, err, name)
		}
	}
}

// Without authentication nobody but this computer is answered, however the server
// was started.
func TestNobodyElseWithoutAuthentication(t *testing.T) {
	var reason guard.Reason
	g, err := guard.New(guard.Options{Hosts: []string{"example.com"}, Denied: func(d guard.Denial) { reason = d.Reason }})
	if err != nil {
		t.Fatal(err)
	}
	resp := record(g, "/mcp", t.Context())
	if resp.Code != http.StatusForbidden || reason != guard.NotLocal || strings.Contains(resp.Body.String(), secret) {
		t.Errorf("a connection whose address is not known: %d, %s", resp.Code, reason)
	}
	other := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 80}
	resp = record(g, "/mcp", context.WithValue(t.Context(), http.LocalAddrContextKey, other))
	if resp.Code != http.StatusForbidden || reason != guard.NotLocal {
		t.Errorf("a connection to an address that is not loopback: %d, %s", resp.Code, reason)
	}
}

// Names of this computer mean it on its own connections only, and an address means
// the connection that came to it.
func TestHostOfAnotherAddress(t *testing.T) {
	g, err := guard.New(guard.Options{Auth: []guard.Authenticator{tokens{canary: owner("a")}}})
	if err != nil {
		t.Fatal(err)
	}
	here := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 80})
	for host, want := range map[string]int{
		"192.168.1.5": 200, "192.168.1.5:80": 200,
		"192.168.1.5:8080": 403, "192.168.1.6": 403, "localhost": 403, "127.0.0.1": 403, "[::1]": 403,
	} {
		r := request(t, "Bearer "+canary).WithContext(here)
		r.Host = host
		w := httptest.NewRecorder()
		g.Wrap(http.HandlerFunc(echo)).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %s to 192.168.1.5: %d; want %d", host, w.Code, want)
		}
	}
}
