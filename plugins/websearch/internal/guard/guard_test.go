package guard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func TestPublic(t *testing.T) {
	for _, c := range []struct {
		public bool
		addrs  string
	}{
		{true, "1.1.1.1 8.8.8.8 93.184.216.34 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 192.0.1.1 198.17.0.1 223.255.255.255 11.0.0.1 169.253.1.1"},
		{true, "2606:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888 64:ff9b::8.8.8.8 ::ffff:8.8.8.8"},
		{false, "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255"},
		{false, "192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16"},
		{false, ":: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1"},
		{false, "fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 100::1 2001::1 2001:0:7f00:1::1 2001:10::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::1 3fff::1 5f00::1 4000::1"},
		{false, "fe80::1%eth0 2606:4700::1111%eth0"},
	} {
		for s := range strings.FieldsSeq(c.addrs) {
			if got := Public(netip.MustParseAddr(s)); got != c.public {
				t.Errorf("%s public: %v, want %v", s, got, c.public)
			}
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestCheckURL(t *testing.T) {
	for _, s := range []string{"http://example.org", "https://example.org:8443/x?y#z"} {
		u, _ := url.Parse(s)
		if err := CheckURL(u); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", "example.org", "//example.org", "file:///etc/passwd", "gopher://x", "ftp://x/", "http:///x", "http://:80/", "http://a@example.org", "http://a:b@example.org/", "javascript:alert(1)", "data:text/html,x", "unix:///var/run/docker.sock"} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if AsBlocked(CheckURL(u)) == nil {
			t.Errorf("%s is let through", s)
		}
	}
}

// listener counts what reaches a server on loopback, which nothing may.
func listener(t *testing.T) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var reached atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			reached.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, &reached
}

func get(t *testing.T, c *http.Client, to string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func TestNothingPrivateIsReached(t *testing.T) {
	s, reached := listener(t)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := New(nil).Client()
	for _, host := range []string{
		"127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::7f00:1]", "169.254.169.254", "10.0.0.1", "192.168.1.1", "[fe80::1]", "[fd00::1]",
	} {
		if err := get(t, c, "http://"+host+":"+port+"/"); AsBlocked(err) == nil {
			t.Errorf("%s: error %v, want it blocked", host, err)
		}
	}
	// Other spellings of 127.0.0.1: whether a system's resolver takes them or not,
	// nothing arrives.
	for _, host := range []string{"2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1"} {
		if err := get(t, c, "http://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s was fetched", host)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections came about", n)
	}
}

func TestRedirectsAreCheckedAnew(t *testing.T) {
	private, reached := listener(t)
	var to string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" {
			t.Errorf("a referer is sent: %v", r.Header)
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(s.Close)
	// The first server alone is allowed: it stands for one of the public internet.
	addr := netip.MustParseAddrPort(s.Listener.Addr().String())
	g := New([]netip.Prefix{netip.PrefixFrom(addr.Addr(), 32)})
	elsewhere := strings.Replace(private.URL, "127.0.0.1", "127.0.0.9", 1)
	for _, c := range []struct{ to, says string }{
		{elsewhere, "not a public one"},
		{"http://169.254.169.254/latest/meta-data/", "not a public one"},
		{"file:///etc/passwd", "only http and https"},
		{"http://user@example.org/", "user name"},
		{s.URL, "redirects"},
	} {
		to = c.to
		err := get(t, g.Client(), s.URL)
		if b := AsBlocked(err); b == nil || !strings.Contains(b.Why, c.says) {
			t.Errorf("redirect to %s: error %v, want ...%s...", c.to, err, c.says)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections to the private server", n)
	}
}

// TestRebinding: a name that resolves to something public first and to something
// private later is caught by what is connected to, for each address it has.
func TestRebinding(t *testing.T) {
	g := New(nil)
	for _, c := range []struct {
		network, address string
		ok               bool
	}{
		{"tcp4", "93.184.216.34:443", true}, {"tcp6", "[2606:4700::1111]:80", true}, {"tcp4", "93.184.216.34:8080", true},
		{"tcp4", "127.0.0.1:443", false}, {"tcp6", "[::ffff:10.0.0.1]:443", false}, {"tcp6", "[fe80::1%lo]:443", false},
		{"tcp4", "93.184.216.34:25", false}, {"tcp4", "93.184.216.34:22", false}, {"tcp4", "93.184.216.34:6379", false},
		{"unix", "/var/run/docker.sock", false}, {"udp4", "93.184.216.34:443", false}, {"tcp4", "", false},
	} {
		err := g.control(context.Background(), c.network, c.address, nil)
		if (err == nil) != c.ok || err != nil && AsBlocked(err) == nil {
			t.Errorf("%s %s: %v, want ok %v", c.network, c.address, err, c.ok)
		}
	}
}

func TestNoProxy(t *testing.T) {
	s, reached := listener(t)
	t.Setenv("HTTP_PROXY", s.URL)
	t.Setenv("http_proxy", s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody needs the network for this
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.org/", nil)
	if _, err := New(nil).Client().Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if New(nil).Client().Transport.(*http.Transport).Proxy != nil || reached.Load() != 0 {
		t.Error("a proxy would resolve the names itself")
	}
}
