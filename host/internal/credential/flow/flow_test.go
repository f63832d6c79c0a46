package flow

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/credential/discovery"
)

func server() discovery.Server {
	return discovery.Server{Issuer: "https://as.example", AuthorizationEndpoint: "https://as.example/authorize?tenant=1#frag", PKCE: true, ResponseIssuer: true}
}

func begin(t *testing.T, s discovery.Server) *Flow {
	t.Helper()
	f, err := Begin(s, "client", "http://127.0.0.1:5/callback", []string{"a", "offline_access"}, "https://mcp.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBegin(t *testing.T) {
	f := begin(t, server())
	u, err := url.Parse(f.URL)
	if err != nil || u.Host != "as.example" || u.Fragment != "" {
		t.Fatalf("%s, %v", f.URL, err)
	}
	q := u.Query()
	sum := sha256.Sum256([]byte(f.Verifier))
	for name, want := range map[string]string{
		"tenant": "1", "response_type": "code", "client_id": "client", "redirect_uri": "http://127.0.0.1:5/callback", "scope": "a offline_access",
		"resource": "https://mcp.example/mcp", "code_challenge_method": "S256", "code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]),
		"state": f.state, "prompt": "consent",
	} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if other := begin(t, server()); other.state == f.state || other.Verifier == f.Verifier || len(f.Verifier) < 43 {
		t.Error("two flows share a secret")
	}
	for name, change := range map[string]func(*discovery.Server){
		"no PKCE":     func(s *discovery.Server) { s.PKCE = false },
		"no endpoint": func(s *discovery.Server) { s.AuthorizationEndpoint = "" },
		"a script":    func(s *discovery.Server) { s.AuthorizationEndpoint = "javascript:alert(1)" },
		"a file":      func(s *discovery.Server) { s.AuthorizationEndpoint = "file:///x" },
		"http":        func(s *discovery.Server) { s.AuthorizationEndpoint = "http://as.example/" },
	} {
		s := server()
		change(&s)
		if _, err := Begin(s, "c", "http://127.0.0.1/callback", nil, "r"); err == nil {
			t.Errorf("%s: begun", name)
		}
	}
	// Whatever a shell would do with it, it is escaped, and one word.
	s := server()
	s.AuthorizationEndpoint = "https://as.example/a b`c`$(touch x)?d=\"e\"&f=$(g)"
	if f := begin(t, s); strings.ContainsAny(f.URL, "` \"\n") {
		t.Errorf("URL %q", f.URL)
	}
}

func TestCode(t *testing.T) {
	named, unnamed := begin(t, server()), server()
	unnamed.ResponseIssuer = false
	silent := begin(t, unnamed)
	const back = "http://127.0.0.1:5/callback?"
	iss := "&iss=" + url.QueryEscape("https://as.example")
	for _, test := range []struct {
		flow           *Flow
		callback, want string
	}{
		{named, back + "code=c&state=" + named.state + iss, ""},
		{named, "code=c&state=" + named.state + iss, ""},
		{named, "?code=c&state=" + named.state + iss + "\r\n", ""},
		{named, "/callback?code=c&state=" + named.state + iss, ""},
		{silent, back + "code=c&state=" + silent.state, ""},
		{silent, back + "code=c&state=" + silent.state + iss, ""},
		{named, back + "code=c&state=" + silent.state + iss, "not the answer to this login"},
		{named, back + "code=c" + iss, "not the answer to this login"},
		{named, back + "code=c&state=" + named.state, "does not name the authorization server"},
		{named, back + "code=c&state=" + named.state + "&iss=", "comes from the authorization server"},
		{named, back + "code=c&state=" + named.state + iss + "%2F", "comes from the authorization server"},
		{silent, back + "code=c&state=" + silent.state + "&iss=https://evil.example", "comes from the authorization server"},
		{named, back + "error=access_denied&state=" + named.state, "does not name the authorization server"},
		{named, back + "error=access_denied&error_description=no%1b%5b2J&state=" + named.state + iss, `refused: "access_denied": "no\x1b[2J"`},
		{named, back + "error=access_denied", "not the answer to this login"},
		{named, back + "state=" + named.state + iss, "no code"},
		{named, back + "code=a&code=b&state=" + named.state + iss, "more than one code"},
		{named, back + "code=c&state=x&state=" + named.state + iss, "more than one state"},
		{named, "", "not the answer"},
		{named, "http://[", "no URL"},
		{named, "%zz", "no URL"},
		{named, strings.Repeat("x", maxCallback+1), "no URL"},
	} {
		code, err := test.flow.Code(test.callback)
		switch {
		case test.want == "" && (err != nil || code != "c"):
			t.Errorf("%.200s: %q, %v", test.callback, code, err)
		case test.want != "" && (err == nil || code != "" || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%.200s: %q, %v, want %q", test.callback, code, err, test.want)
		}
	}
	_, err := named.Code(back + "error=access_denied&state=" + named.state + iss)
	if d, ok := errors.AsType[*Denied](err); !ok || d.Code != "access_denied" {
		t.Errorf("%v", err)
	}
}

// No callback gets a code through that does not know the state.
func FuzzCode(f *testing.F) {
	flow := &Flow{state: "THESTATE", issuer: "https://as.example", named: true}
	f.Add("http://127.0.0.1:1/callback?code=c&state=THESTATE&iss=https://as.example")
	f.Add("?error=x&state=THESTATE")
	f.Add("code=1;state=2")
	f.Fuzz(func(t *testing.T, callback string) {
		code, err := flow.Code(callback)
		if (err == nil) != (code != "") {
			t.Errorf("%q: %q, %v", callback, code, err)
		}
		if err == nil && (!strings.Contains(callback, "THESTATE") && !strings.Contains(callback, "%")) {
			t.Errorf("%q got a code through", callback)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\n\r") {
			t.Errorf("%q: control characters in %q", callback, err)
		}
	})
}
