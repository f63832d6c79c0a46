package host_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// site is a faultserver over HTTP that can be stopped and started again at the
// same address, with the log of both lives.
type site struct {
	t    *testing.T
	args []string
	url  string
	log  string
	cmd  *exec.Cmd
}

func startSite(t *testing.T, faults string, args ...string) *site {
	t.Helper()
	s := &site{t: t, log: filepath.Join(t.TempDir(), "log")}
	s.args = append([]string{"-log", s.log, "-fault", faults}, args...)
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

func (s *site) start(addr string) {
	s.t.Helper()
	s.cmd = exec.Command(filepath.Join(built, "faultserver"), append([]string{"-http", addr}, s.args...)...)
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n') // printed once it listens
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = strings.TrimSpace(line)
}

func (s *site) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// restart stops the server, runs what is to be seen meanwhile, and starts it again.
func (s *site) restart(meanwhile func()) {
	s.t.Helper()
	s.stop()
	meanwhile()
	s.start(strings.TrimSuffix(s.url[strings.Index(s.url, "//")+2:], "/mcp"))
}

// count counts the lines of the log that hold text.
func (s *site) count(text string) int {
	s.t.Helper()
	b, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// openURL opens a host with one server, h, at the url, with more settings.
func openURL(t *testing.T, url, settings string) *host.Host {
	t.Helper()
	return open(t, fmt.Sprintf("[servers.h]\nurl = %q\n%s\n", url, settings))
}

// eventually waits until ok holds, and looks again with every event of the host.
func eventually(t *testing.T, h *host.Host, what string, ok func() bool) {
	t.Helper()
	happened := make(chan struct{}, 1)
	defer h.Subscribe(func(host.Event) {
		select {
		case happened <- struct{}{}:
		default: // it is about to look anyway
		}
	})()
	for deadline := time.After(patience); !ok(); {
		select {
		case <-happened:
		case <-deadline:
			t.Fatalf("not %s: %+v", what, h.Servers())
		}
	}
}

// inState says whether the only server of a host is in a state.
func inState(h *host.Host, state string) func() bool {
	return func() bool { return h.Servers()[0].State == state }
}

const hi = `{"text":"hi"}`

// What still works, and with how few requests.
func TestHTTPFaultsThatNobodyNotices(t *testing.T) {
	for _, c := range []struct {
		faults, args string
		check        func(*testing.T, *site, *host.Host)
	}{
		{"redirect307", "", nil},
		{"redirect308,modern-only", "", nil},
		{"get404", "", nil},
		{"get-silent", "", nil},
		{"note-200obj", "", nil},
		{"delete-hang", "", nil},
		{"gzip", "", nil},
		{"sse-keepopen", "", nil},
		{"sse-split,sse", "", nil},
		{"429", "1", func(t *testing.T, s *site, _ *host.Host) {
			if n := s.count(`"tools/call"`); n != 2 {
				t.Errorf("%d calls on the wire, want the refused one and its repetition", n)
			}
		}},
		{"sess404", "3", func(t *testing.T, s *site, h *host.Host) {
			for range 19 {
				mustCall(t, h, "h/echo", hi)
			}
			if n := s.count(`"method":"initialize"`); n < 6 || n > 8 {
				t.Errorf("%d sessions for 20 calls of three each", n)
			}
		}},
		{"sess404", "10", func(t *testing.T, s *site, h *host.Host) {
			for range 9 {
				mustCall(t, h, "h/echo", hi)
			}
			before := s.count(`"method":"initialize"`)
			var calls sync.WaitGroup
			for range 10 {
				calls.Go(func() {
					if _, err := h.Call(patient(t), host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi)}); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if n := s.count(`"method":"initialize"`) - before; n != 1 {
				t.Errorf("%d new sessions for ten calls that found the old one expired, want 1", n)
			}
		}},
	} {
		t.Run(strings.TrimSuffix(c.faults+" "+c.args, " "), func(t *testing.T) {
			t.Parallel()
			var args []string
			if c.args != "" {
				args = []string{"-n", c.args}
			}
			s := startSite(t, c.faults, args...)
			h := openURL(t, s.url, `headers = { X-Secret = "s3cret" }`)
			if res := mustCall(t, h, "h/echo", hi); !strings.Contains(string(res.JSON), `"text":"hi"`) {
				t.Errorf("result %s", res.JSON)
			}
			if c.check != nil {
				c.check(t, s, h)
			}
			if all, secret := s.count(`"event":"http"`), s.count(`"X-Secret":["s3cret"]`); all != secret {
				t.Errorf("%d of %d requests had the header", secret, all)
			}
		})
	}
}

// What a user has to know of: the class, how far the call came, and what to do.
func TestHTTPFaultsThatUsersSee(t *testing.T) {
	for _, c := range []struct {
		faults   string
		class    failure.Class
		delivery failure.Delivery
		says     []string // URL is the server's
		calls    int      // seen by the server
	}{
		{"redirect301", failure.ServerError, failure.NotSent, []string{"connect to URL: ", "301", "URL/", "configuration"}, 0},
		{"redirect302,modern-only", failure.ServerError, failure.NotSent, []string{"connect to URL: ", "302", "URL/"}, 0},
		{"redirect-loop", failure.ServerError, failure.NotSent, []string{"more than 3 times"}, 0},
		{"redirect-meta", failure.ServerError, failure.NotSent, []string{"another origin", "http://169.254.7.7/"}, 0},
		{"redirect-file", failure.ServerError, failure.NotSent, []string{"another origin", "file:///etc/hostname"}, 0},
		{"sess404-always", failure.ServerError, failure.NotSent, []string{"Session not found"}, 0},
		{"call-html", failure.InvalidResult, failure.Answered, []string{"text/html", "Please sign in"}, 1},
		{"call-202", failure.InvalidResult, failure.Answered, []string{"202"}, 1},
		{"call-403", failure.AuthFailure, failure.Answered, []string{"403"}, 1},
		{"429-long", failure.RateLimited, failure.Answered, []string{"429", "1h"}, 1},
		{"500-after", failure.ServerError, failure.Answered, []string{"500", "something broke"}, 1},
		{"rst", failure.ConnectionRefused, failure.DeliveryUnknown, []string{"broke"}, 1},
		{"hangup", failure.ConnectionRefused, failure.DeliveryUnknown, []string{"before its answer was complete"}, 1},
		{"sse-stall", failure.Timeout, failure.DeliveryUnknown, []string{"1s"}, 1},
		{"sse-trickle,modern-only", failure.Timeout, failure.DeliveryUnknown, []string{"1s"}, 1},
		{"tls", failure.ConnectionRefused, failure.NotSent, []string{"connect to URL: ", "unknown authority", "ca_file"}, 0},
		{"tls-expired", failure.ConnectionRefused, failure.NotSent, []string{"connect to URL: ", "expired"}, 0},
		{"tls-name", failure.ConnectionRefused, failure.NotSent, []string{"connect to URL: ", "elsewhere.example"}, 0},
	} {
		t.Run(c.faults, func(t *testing.T) {
			t.Parallel()
			s := startSite(t, c.faults)
			h := openURL(t, s.url, `timeout = "1s"`)
			f := mustFail(t, h, host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi), Caller: host.CLI})
			if f.Class != c.class || f.Delivery != c.delivery || f.Server != "h" {
				t.Errorf("failure %s, %s, want %s, %s: %v", f.Class, f.Delivery, c.class, c.delivery, f)
			}
			for _, text := range c.says {
				if text = strings.ReplaceAll(text, "URL", s.url); !strings.Contains(f.Message, text) {
					t.Errorf("message %q lacks %q", f.Message, text)
				}
			}
			if n := s.count(`"method":"tools/call"`); n != c.calls {
				t.Errorf("%d calls on the wire, want %d", n, c.calls)
			}
		})
	}
}

// Nothing of a request goes to where another origin's redirect points.
func TestRedirectKeepsSecrets(t *testing.T) {
	other := startSite(t, "")
	s := startSite(t, "redirect-cross", "-sibling", other.url)
	h := openURL(t, s.url, `headers = { X-Secret = "s3cret" }`)
	f := mustFail(t, h, host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi)})
	if !strings.Contains(f.Message, other.url) {
		t.Errorf("message %q", f.Message)
	}
	if n := other.count(`"event":"http"`); n != 0 {
		t.Errorf("the other origin saw %d requests", n)
	}
}

func TestOwnAuthority(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "ca.pem")
	s := startSite(t, "tls", "-certout", pem)
	h := openURL(t, s.url, fmt.Sprintf("ca_file = %q", pem))
	mustCall(t, h, "h/echo", hi)
}

// The server comes and goes: calls fail while it is away, and the first one after
// that succeeds, however often.
func TestServerComesAndGoes(t *testing.T) {
	for _, faults := range []string{"", "modern-only"} {
		t.Run(cmp.Or(faults, "sessions"), func(t *testing.T) {
			t.Parallel()
			s := startSite(t, faults)
			h := openURL(t, s.url, `retry = "never"`)
			mustCall(t, h, "h/echo", hi)
			for range 8 {
				s.restart(func() {
					// A connection that was kept may break only when it is used.
					f := mustFail(t, h, host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi)})
					if f.Class != failure.ConnectionRefused {
						t.Errorf("failure %v", f)
					}
					f = mustFail(t, h, host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi)})
					if f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "connect to "+s.url) {
						t.Errorf("failure %s, %s: %v", f.Class, f.Delivery, f)
					}
					eventually(t, h, "degraded", inState(h, "degraded"))
				})
				mustCall(t, h, "h/echo", hi)
			}
			eventually(t, h, "ready", inState(h, "ready"))
		})
	}
}

// Another server at the same address is another list.
func TestServerComesBackWithOtherTools(t *testing.T) {
	for _, faults := range []string{"", "modern-only"} {
		t.Run(cmp.Or(faults, "sessions"), func(t *testing.T) {
			t.Parallel()
			s := startSite(t, faults)
			h := openURL(t, s.url, "")
			mustCall(t, h, "h/echo", hi)
			s.restart(func() {
				s.args = append(s.args, "-fault", faults+",schema:defs")
				// A connection that was kept may break only when it is used.
				mustFail(t, h, host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi)})
			})
			mustCall(t, h, "h/echo", hi)
			eventually(t, h, "the new tool is listed", func() bool {
				list, err := h.Tools(patient(t), host.Query{Pattern: "h/sch_defs"})
				if err != nil {
					t.Fatal(err)
				}
				return len(list.Tools) == 1
			})
		})
	}
}

// Who must go through a proxy says so in the environment, which adapters get.
func TestProxy(t *testing.T) {
	s := startSite(t, "")
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if r.In.URL.Host == "mcp.example" { // a proxy is given whole URLs
			asked.Add(1)
		}
		r.Out.URL.Host = target.Host
	}})
	defer proxy.Close()
	opt := options(t, "[servers.h]\nurl = \"http://mcp.example/mcp\"\n")
	opt.Environ = append(opt.Environ, "HTTP_PROXY="+proxy.URL)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close() // before the proxy, which waits for its streams
	mustCall(t, h, "h/echo", hi)
	if asked.Load() == 0 {
		t.Error("the proxy was not asked")
	}
}

// A server that is not there when it is first needed is used once it is.
func TestServerComesLate(t *testing.T) {
	addr, _ := freeAddr(t)
	h := openURL(t, "http://"+addr+"/mcp", "")
	f := mustFail(t, h, host.Request{Tool: "h/echo", Arguments: json.RawMessage(hi), Retry: host.RetryNever})
	if f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "connect to http://"+addr) {
		t.Errorf("failure %s, %s: %v", f.Class, f.Delivery, f)
	}
	s := &site{t: t, log: filepath.Join(t.TempDir(), "log")}
	s.args = []string{"-log", s.log}
	s.start(addr)
	t.Cleanup(s.stop)
	mustCall(t, h, "h/echo", hi)
}

// A refusal for lack of credentials says so, with what the server asks for.
func TestUnauthorized(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://auth.example/.well-known/x"`)
		http.Error(rw, "who are you?", http.StatusUnauthorized)
	}))
	defer server.Close()
	began := time.Now()
	f := mustFail(t, openURL(t, server.URL+"/mcp?key=s3cret", ""), host.Request{Tool: "h/echo"})
	if f.Class != failure.AuthFailure || f.UpstreamCode != 401 || !strings.Contains(f.Challenge, "auth.example") {
		t.Errorf("failure %s, code %d, challenge %q", f.Class, f.UpstreamCode, f.Challenge)
	}
	if !strings.Contains(f.Message, "connect to "+server.URL+"/mcp: ") || !strings.Contains(f.Message, "401") || strings.Contains(f.Message, "s3cret") {
		t.Errorf("message %q", f.Message)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %s", took)
	}
}

// Lists that change, over streams of both eras.
func TestListChangesOverHTTP(t *testing.T) {
	for _, faults := range []string{"", "modern-only"} {
		t.Run(cmp.Or(faults, "sessions"), func(t *testing.T) {
			t.Parallel()
			s := startSite(t, faults)
			h := openURL(t, s.url, "")
			mustFail(t, h, host.Request{Tool: "h/x_grown"})
			mustCall(t, h, "h/x_grow", `{}`)
			eventually(t, h, "the new tool is listed", func() bool {
				list, err := h.Tools(patient(t), host.Query{Pattern: "h/x_grown"})
				if err != nil {
					t.Fatal(err)
				}
				return len(list.Tools) == 1
			})
		})
	}
}
