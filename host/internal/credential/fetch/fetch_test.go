package fetch

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEndpoint(t *testing.T) {
	for raw, want := range map[string]string{
		"https://as.example":                       "",
		"https://as.example:8443/a?b=c":            "",
		"http://127.0.0.1:9/x":                     "",
		"http://localhost/x":                       "",
		"http://LOCALHOST./x":                      "",
		"http://[::1]:80/":                         "",
		"http://as.example/":                       "http is for this machine only",
		"http://127.0.0.1.evil.example/":           "http is for this machine only",
		"http://10.0.0.1/":                         "http is for this machine only",
		"javascript:alert(1)":                      "neither https:// nor http://",
		"file:///etc/passwd":                       "neither https:// nor http://",
		"data:text/html,x":                         "neither https:// nor http://",
		"//as.example/":                            "neither https:// nor http://",
		"https:///path":                            "neither https:// nor http://",
		"https://user:secret@as.example/":          "has a user in it",
		"https://as.example/\x1b[2J":               "unreadable",
		"https://as.example/\n":                    "unreadable",
		"":                                         "neither https:// nor http://",
		"https://a/" + strings.Repeat("x", maxURL): "unreadable",
	} {
		_, err := Endpoint(raw)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the password is shown: %v", raw, err)
		}
	}
}

func TestShow(t *testing.T) {
	for raw, want := range map[string]string{
		"https://u:p@h/a?code=secret#f": "https://h/a",
		"\x7f":                          "(unreadable)",
		"https://h/\u202e":              `https://h/%E2%80%AE`,
	} {
		if got := Show(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

func TestReach(t *testing.T) {
	for address, want := range map[string]reach{
		"93.184.216.34": public, "2606:2800:220:1::1": public,
		"10.1.2.3": private, "172.16.0.1": private, "192.168.1.1": private, "100.64.0.1": private, "fd00::1": private,
		"64:ff9b::a00:1": private, "2002:a00:1::1": private, "::ffff:10.0.0.1": private,
		"127.0.0.1": loopback, "127.8.8.8": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback,
		"169.254.169.254": never, "fe80::1": never, "0.0.0.0": never, "::": never, "224.0.0.1": never, "255.255.255.255": never,
		"0.1.2.3": never, "::ffff:169.254.169.254": never, "fe80::1%eth0": never,
	} {
		if got := reachOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}

// dialer records where a client would connect to, and connects nowhere.
type dialer struct {
	mu  sync.Mutex
	got []string
}

var errDialed = errors.New("dialed")

func (d *dialer) dial(_ context.Context, _, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, address)
	return nil, errDialed
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// A server sends nobody further inside than it is itself.
func TestInward(t *testing.T) {
	for _, test := range []struct {
		server, target string
		allowed        bool
	}{
		{"https://93.184.216.34/mcp", "https://93.184.216.35/", true},
		{"https://93.184.216.34/mcp", "https://10.0.0.1/", false},
		{"https://93.184.216.34/mcp", "https://[fd00::1]/", false},
		{"https://93.184.216.34/mcp", "http://127.0.0.1:8080/", false},
		{"https://93.184.216.34/mcp", "http://localhost:8080/", false},
		{"https://93.184.216.34/mcp", "https://[::ffff:127.0.0.1]/", false},
		{"https://93.184.216.34/mcp", "https://169.254.169.254/latest", false},
		{"https://10.0.0.9/mcp", "https://10.0.0.1/", true},
		{"https://10.0.0.9/mcp", "https://93.184.216.34/", true},
		{"https://10.0.0.9/mcp", "http://127.0.0.1:8080/", false},
		{"https://10.0.0.9/mcp", "https://169.254.169.254/", false},
		{"http://127.0.0.1:1/mcp", "http://127.0.0.1:8080/", true},
		{"http://localhost:1/mcp", "http://[::1]:8080/", true},
		{"http://127.0.0.1:1/mcp", "https://10.0.0.1/", true},
		{"http://127.0.0.1:1/mcp", "https://169.254.7.7/", false},
	} {
		d := &dialer{}
		c, err := New(Options{Server: test.server, Dial: d.dial, Proxy: noProxy})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Get(t.Context(), test.target)
		inward, refused := errors.AsType[*Inward](err)
		if refused == test.allowed || test.allowed != errors.Is(err, errDialed) || test.allowed != (len(d.got) > 0) {
			t.Errorf("%s -> %s: %v, dialed %v", test.server, test.target, err, d.got)
		}
		if refused && !strings.Contains(inward.Error(), inward.Address.String()) {
			t.Errorf("the error does not name the address: %v", inward)
		}
	}
}

// A proxy resolves names itself, but an address is an address.
func TestProxied(t *testing.T) {
	var asked []string
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL)
	c, err := New(Options{Server: "https://93.184.216.34/", Proxy: func(*http.Request) (*url.URL, error) { return at, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "https://10.0.0.1/"); err == nil || len(asked) != 0 {
		t.Errorf("%v, the proxy was asked for %q", err, asked)
	}
	if _, err := c.Get(t.Context(), "https://as.example/"); err == nil || len(asked) != 1 {
		t.Errorf("%v, the proxy was asked for %q", err, asked)
	}
}

func local(t *testing.T, h http.HandlerFunc) (*Client, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(Options{Server: srv.URL, Agent: "collet/1", Proxy: noProxy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, srv.URL
}

func TestRedirects(t *testing.T) {
	var seen []string
	c, at := local(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path)
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/once":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/out":
			http.Redirect(w, r, "http://as.example/", http.StatusFound)
		case "/cloud":
			http.Redirect(w, r, "https://169.254.169.254/", http.StatusFound)
		default:
			io.WriteString(w, "{}")
		}
	})
	if a, err := c.Get(t.Context(), at+"/once"); err != nil || a.Status != 200 || string(a.Body) != "{}" {
		t.Errorf("%+v, %v", a, err)
	}
	for path, want := range map[string]string{"/loop": "more than 3 times", "/out": "http is for this machine only", "/cloud": "nothing may point to"} {
		if _, err := c.Get(t.Context(), at+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	seen = nil
	if a, err := c.Post(t.Context(), at+"/once", http.Header{}, "secret"); err != nil || a.Status != http.StatusTemporaryRedirect || len(seen) != 1 {
		t.Errorf("a redirected POST: %+v, %v, seen %q", a, err, seen)
	}
}

func TestBounds(t *testing.T) {
	c, at := local(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			for range maxBody/1024 + 1 {
				w.Write(make([]byte, 1024))
			}
		case "/hang":
			<-r.Context().Done()
		case "/later":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			io.WriteString(w, r.Header.Get("User-Agent")+" "+r.Header.Get("X-A"))
		}
	})
	if _, err := c.Get(t.Context(), at+"/big"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Get(ctx, at+"/hang?token=secret"); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if a, err := c.Get(t.Context(), at+"/later"); err != nil || a.RetryAfter != 7*time.Second {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := c.Post(t.Context(), at, http.Header{"X-A": {"b"}}, ""); err != nil || string(a.Body) != "collet/1 b" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.Get(t.Context(), "http://as.example/"); err == nil {
		t.Error("http to elsewhere")
	}
	for value, want := range map[string]time.Duration{"": 0, "x": 0, "-1": 0, "2": 2 * time.Second, "999999": maxRetryAfter} {
		if got := retryAfter(value); got != want {
			t.Errorf("Retry-After %q: %s, want %s", value, got, want)
		}
	}
}

func TestCAFile(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer srv.Close()
	srv.Config.ErrorLog = nil
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for ca, ok := range map[string]bool{file: true, "": false} {
		c, err := New(Options{Server: srv.URL, CAFile: ca, Proxy: noProxy})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), srv.URL); (err == nil) != ok {
			t.Errorf("with %q: %v", ca, err)
		}
	}
	if _, err := New(Options{Server: srv.URL, CAFile: file + "x"}); err == nil {
		t.Error("a missing file")
	}
	os.WriteFile(file, []byte("x"), 0o600)
	if _, err := New(Options{Server: srv.URL, CAFile: file}); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("%v", err)
	}
	if _, err := New(Options{Server: "http://mcp.example/"}); err == nil {
		t.Error("a server over http")
	}
}
