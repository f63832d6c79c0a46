package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// site is a faultserver over HTTP that can be stopped and started again at the
// same address.
type site struct {
	t    *testing.T
	args []string
	addr string
	url  string
	log  string
	cmd  *exec.Cmd
}

// newSite is a site that does not run yet.
func newSite(t *testing.T, args ...string) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &site{t: t, args: args, addr: l.Addr().String(), log: filepath.Join(t.TempDir(), "log")}
	s.url = "http://" + s.addr + "/mcp"
	t.Cleanup(s.stop)
	return s
}

func startSite(t *testing.T, args ...string) *site {
	t.Helper()
	s := newSite(t, args...)
	s.start()
	return s
}

func (s *site) start() {
	s.t.Helper()
	s.cmd = exec.Command(faultPath, append([]string{"-http", s.addr, "-log", s.log}, s.args...)...)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n') // printed once it listens
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = strings.TrimSpace(line)
}

func (s *site) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]string{"sessions": "", "streams": "sse", "stateless": "modern-only", "stateless streams": "modern-only,sse"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSite(t, "-fault", faults)
			p := serve(t, config{URL: s.url, Headers: map[string]string{"X-Team": "a b", "authorization": "Bearer x"}})
			if def := p.tools(t)["echo"]; !strings.HasSuffix(def, `,"_meta":{"com.example/n":9007199254740993},"x":1.0}`) {
				t.Errorf("definition %s", def)
			}
			if got := p.mustCall(t, "c_numbers", `{}`); !strings.Contains(got.result, `"one":1.0,"exp":1e2,"small":1E-7,"neg0":-0.0,"big":9007199254740993`) {
				t.Errorf("result %s", got.result)
			}
			args := "{\"z\":9007199254740993,\"a\":1.0,\"s\":\"<&>\u2028\"}"
			if got := p.mustCall(t, "raw", args); !strings.Contains(unquote(t, got.result), `"arguments":`+args) {
				t.Errorf("the server received %s", got.result)
			}
			requests := count(t, s.log, `"event":"http"`)
			for _, header := range []string{`"X-Team":["a b"]`, `"Authorization":["Bearer x"]`} {
				if n := count(t, s.log, header); n != requests || n == 0 {
					t.Errorf("%d of %d requests had %s", n, requests, header)
				}
			}
			wait := p.watch(t)
			p.mustCall(t, "x_grow", `{}`)
			wait("ToolsChanged", func(ev *adapterpb.WatchEvent) bool { return ev.GetToolsChanged() != nil })
			if _, has := p.tools(t)["x_grown"]; !has {
				t.Error("the new list lacks x_grown")
			}
		})
	}
}

// A server that is away fails its calls with its address, however often, and is
// used again with the first call after it is back.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]string{"sessions": "", "stateless": "modern-only"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "-fault", faults)
			p := serve(t, config{URL: s.url})
			wait := p.watch(t)
			wait(inState(adapterpb.Health_STATE_UNAVAILABLE))
			away := func() {
				t.Helper()
				_, err := p.call(t, "echo", `{"text":"x"}`)
				f := wantFailure(t, err, failure.ConnectionRefused, failure.NotSent)
				if !strings.Contains(f.Message, s.url) || f.RetryAfter != 0 {
					t.Errorf("message %q, retry after %s", f.Message, f.RetryAfter)
				}
			}
			for range 10 {
				away()
			}
			s.start()
			p.mustCall(t, "echo", `{"text":"x"}`)
			wait(inState(adapterpb.Health_STATE_READY))
			for range 8 {
				s.stop()
				// A connection that was kept may break only when it is used.
				if _, err := p.call(t, "echo", `{"text":"x"}`); failure.Classify(err).Class != failure.ConnectionRefused {
					t.Errorf("error %v", err)
				}
				away()
				wait("the reason", func(ev *adapterpb.WatchEvent) bool {
					h := health(ev)
					return h.GetState() == adapterpb.Health_STATE_DEGRADED && h.GetFailure().GetMessage() != ""
				})
				s.start()
				p.mustCall(t, "echo", `{"text":"x"}`)
				wait(inState(adapterpb.Health_STATE_READY))
			}
		})
	}
}

func TestOwnAuthority(t *testing.T) {
	t.Parallel()
	pem := filepath.Join(t.TempDir(), "ca.pem")
	s := startSite(t, "-fault", "tls", "-certout", pem)
	p := serve(t, config{URL: s.url, CAFile: pem})
	p.mustCall(t, "echo", `{"text":"x"}`)

	p = serve(t, config{URL: s.url})
	_, err := p.call(t, "echo", `{}`)
	f := wantFailure(t, err, failure.ConnectionRefused, failure.NotSent)
	for _, says := range []string{s.url, "unknown authority", "ca_file"} {
		if !strings.Contains(f.Message, says) {
			t.Errorf("message %q lacks %q", f.Message, says)
		}
	}
}
