package guard

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// What is taken for this computer's address is never one that a browser would take
// for another.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost:8080", "[::1]:8080", "127.0.0.1:8080", "evil.example:8080", "localhost:8080@evil.example", "[::1", "]:1", ":", "a:b:c", "[::1%25eth0]:8080", "localhost\\.evil:8080", "127.0.0.1.:8080"} {
		f.Add(s)
	}
	here := netip.MustParseAddrPort("127.0.0.1:8080")
	s, err := newSites(nil, []string{"https://app.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		at, ok := parseSite(host, "80")
		if ok && (at.name == "" || at.port == "" || at.name != strings.ToLower(at.name)) {
			t.Fatalf("%q is read as %+v", host, at)
		}
		if ok && s.known(at, here) {
			u, err := url.Parse("http://" + host + "/mcp")
			if err != nil || u.User != nil || u.Port() != "8080" {
				t.Fatalf("%q is known, and a URL with it is %+v, %v", host, u, err)
			}
			name := strings.ToLower(u.Hostname())
			ip, err := netip.ParseAddr(name)
			if name != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
				t.Fatalf("%q is known, and is %q", host, name)
			}
		}
		if scheme, page, ok := parseOrigin(host); ok && (scheme == "" || scheme != strings.ToLower(scheme) || strings.ContainsAny(page.name, "/@?#\\ ,")) {
			t.Fatalf("%q is read as the origin %s %+v", host, scheme, page)
		}
	})
}

// Whatever stands in the header: a token that comes out is one that a file could
// hold, and the answer has no part of it.
func FuzzBearer(f *testing.F) {
	for _, s := range []string{"Bearer abc", "bearer  abc ", "Bearer", "", "Basic YTpi", "Bearer a\tb", "Bearer \x00", "Bearer a, Bearer b", "bEaReR é"} {
		f.Add(s)
	}
	g, err := New(Options{Hosts: []string{"example.com"}, Auth: []Authenticator{nobody{}}, Issuers: []string{"https://login.example.com"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token, fault := parseBearer(value)
		if (token == "") == (fault == "") || token != "" && (!CanBeSent(token) || !strings.HasSuffix(strings.TrimRight(value, " "), token)) {
			t.Fatalf("%q: %q, %q", value, token, fault)
		}
		w := &answered{header: http.Header{}}
		r := &http.Request{Method: "POST", Host: "example.com", URL: &url.URL{Path: "/mcp"}, Header: http.Header{"Authorization": {value}}, RemoteAddr: "192.0.2.1:1"}
		g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Fatal("let through") })).ServeHTTP(w, r)
		if w.status != 400 && w.status != 401 && w.status != 429 {
			t.Fatalf("%q: %d", value, w.status)
		}
		if len(token) > 40 && strings.Contains(w.text+w.header.Get("WWW-Authenticate"), token) {
			t.Fatalf("the answer holds the token: %s", w.text)
		}
	})
}

type nobody struct{}

func (nobody) Authenticate(context.Context, string) (*Principal, error) { return nil, ErrUnknown }

type answered struct {
	header http.Header
	status int
	text   string
}

func (a *answered) Header() http.Header { return a.header }
func (a *answered) WriteHeader(status int) {
	a.status = status
}
func (a *answered) Write(p []byte) (int, error) {
	a.text += string(p)
	return len(p), nil
}
