package guard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

// canary is a token that must be seen nowhere but in the request that carries it.
const canary = "canary-7f3a9c51e0b84d6297d1f5a3c8e2b604"

// tokens is an authenticator of fixed tokens.
type tokens map[string]answer

type answer struct {
	p   *guard.Principal
	err error
}

func (t tokens) Authenticate(_ context.Context, token string) (*guard.Principal, error) {
	a, known := t[token]
	if !known {
		return nil, guard.ErrUnknown
	}
	return a.p, a.err
}

func owner(id string) answer {
	return answer{p: &guard.Principal{ID: id, Grants: []guard.Grant{guard.All}}}
}

// peer is a server behind a guard, with everything that can be seen of it.
type peer struct {
	*httptest.Server
	guard   *guard.Guard
	denials *denials
	log     *safeBuffer
}

type denials struct {
	mu   sync.Mutex
	seen []string
}

func (d *denials) add(one guard.Denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, one.Method+" "+string(one.Reason))
}

func (d *denials) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := strings.Join(d.seen, ", ")
	d.seen = nil
	return s
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// secret is what the handler behind the guard says: nobody gets it who must not.
const secret = "the catalog"

func echo(w http.ResponseWriter, r *http.Request) {
	id := "nobody"
	if p := guard.FromContext(r.Context()); p != nil {
		id = p.ID
	}
	_, _ = io.WriteString(w, secret+" for "+id)
}

func serve(t *testing.T, opt guard.Options, handler http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{denials: &denials{}, log: &safeBuffer{}}
	opt.Denied = p.denials.add
	opt.Log = slog.New(slog.NewTextHandler(p.log, nil))
	g, err := guard.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	p.guard = g
	p.Server = httptest.NewUnstartedServer(nil)
	p.Config = guard.Server(g.Wrap(handler), nil)
	p.Start()
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		if strings.Contains(p.log.String(), canary) {
			t.Errorf("the log holds the token: %s", p.log)
		}
	})
	return p
}

// port is the server's, as ":12345".
func (p *peer) port() string {
	_, port, _ := net.SplitHostPort(p.Listener.Addr().String())
	return ":" + port
}

// do sends a request whose headers are "Name: value" lines; Host is one of them.
// PORT stands for the server's.
func (p *peer) do(t *testing.T, method, path string, lines ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, p.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(strings.ReplaceAll(line, ":PORT", p.port()), ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Add(name, value)
	}
	return p.send(t, req)
}

func (p *peer) send(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := p.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body) + resp.Header.Get("WWW-Authenticate"); strings.Contains(text, canary) {
		t.Errorf("the answer holds the token: %s", text)
	}
	if resp.StatusCode >= 400 && strings.Contains(string(body), secret) {
		t.Errorf("status %d, and the handler was asked", resp.StatusCode)
	}
	return resp, string(body)
}

// message is the text of a JSON-RPC error without an id.
func message(t *testing.T, body string) string {
	t.Helper()
	var m struct {
		JSONRPC string
		ID      *json.RawMessage
		Error   struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.JSONRPC != "2.0" || m.ID != nil || m.Error.Code != -32000 {
		t.Errorf("the body is no JSON-RPC error without an id: %s (%v)", body, err)
	}
	return m.Error.Message
}
