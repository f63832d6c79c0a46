package guard_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

func TestServerHasTimes(t *testing.T) {
	s := guard.Server(nil, nil)
	if s.ReadHeaderTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 || s.ReadTimeout != 0 || s.WriteTimeout != 0 {
		t.Errorf("headers and idle connections need limits, streams none: %+v", s)
	}
}

// What net/http would answer by itself is answered by the guard.
func TestNothingBypassesTheGuard(t *testing.T) {
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{canary: owner("a")}}}, echo)
	for request, want := range map[string]string{
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                "403",
		"OPTIONS * HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n":                                              "401",
		"GET http://evil.example/mcp HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n":                            "403",
		"GET http://localhost:PORT/mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n":                            "401", // RFC 9112 section 3.2.2
		"GET /mcp HTTP/1.0\r\n\r\n":                                                                       "403",
		"GET /mcp HTTP/1.1\r\n\r\n":                                                                       "400",
		"GET /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nHost: evil.example\r\n\r\n":                         "400",
		"CONNECT localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n":                                 "401",
		"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n":                                "403",
		"TRACE /mcp HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n":                                             "401",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                                "403",
		"GET /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nUpgrade: h2c\r\n\r\n":                               "401",
		"GET /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nUpgrade: websocket\r\n\r\n":                         "401",
		"GET /healthz/..%2fmcp HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n":                                  "401",
		"POST /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n": "401",
	} {
		c, err := net.Dial("tcp", p.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, strings.ReplaceAll(request, ":PORT", p.port()))
		line, _ := bufio.NewReader(c).ReadString('\n')
		c.Close()
		if fields := strings.Fields(line); len(fields) < 2 || fields[1] != want {
			t.Errorf("%q: %q; want %s", request, line, want)
		}
	}
}

func TestPanicsAreTold(t *testing.T) {
	log := &safeBuffer{}
	s := httptest.NewUnstartedServer(nil)
	s.Config = guard.Server(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		panic("the handler's fault")
	}), slog.New(slog.NewTextHandler(log, nil)))
	s.Start()
	defer s.Close()
	for _, path := range []string{"/abort", "/mcp"} {
		resp, err := s.Client().Get(s.URL + path)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if text := log.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "the handler's fault") || !strings.Contains(text, "server_test.go") {
		t.Errorf("the log: %s", text)
	}
}
