package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// relay is a handler that asks the official SDK's conformance server, which speaks
// each era to its own client: what passes through both halves of this package must
// pass the suite as the SDK's server does alone.
type relay struct {
	server         *Server
	modern, legacy *Client
	current        atomic.Pointer[Incoming] // the suite asks one at a time where it matters
}

func (h *relay) upstream(c *Caller) *Client {
	if c.Modern {
		return h.modern
	}
	return h.legacy
}

func (h *relay) Describe(_ context.Context, c *Caller) Description {
	return Description{Capabilities: h.upstream(c).Server().Capabilities}
}

func (h *relay) Handle(ctx context.Context, r *Incoming) (json.RawMessage, error) {
	h.current.Store(r)
	var opt RequestOptions
	if r.Progress != nil {
		opt.OnProgress = func(p Progress) {
			r.Progress(json.RawMessage(`{"progress":` + strconv.FormatFloat(p.Done, 'g', -1, 64) + `,"total":` + strconv.FormatFloat(p.Total, 'g', -1, 64) + `}`))
		}
	}
	return h.upstream(r.Caller).Request(ctx, r.Method, r.Params, opt)
}

func (h *relay) Watch(ctx context.Context, c *Caller, uri string) (func(), error) {
	params := json.RawMessage(`{"uri":` + string(appendString(nil, uri)) + `}`)
	if _, err := h.legacy.Request(ctx, "resources/subscribe", params, RequestOptions{}); err != nil {
		return nil, err
	}
	return func() {}, nil
}

func (h *relay) notified(method string, params json.RawMessage) {
	if method == "notifications/message" {
		if r := h.current.Load(); r != nil && r.Log != nil {
			r.Log(params)
		}
		return
	}
	h.server.Notify(method, params, nil)
}

func (h *relay) asked(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return h.current.Load().Ask(ctx, method, params)
}

// suite is a program that `make test` installs; where a variable says that it is
// there, it must be.
func suite(t *testing.T, variable, fallback string, path ...string) string {
	t.Helper()
	dir, must := os.LookupEnv(variable)
	if !must {
		dir = filepath.Join("..", "..", ".cache", fallback)
	}
	file, err := filepath.Abs(filepath.Join(append([]string{dir}, path...)...))
	if err == nil {
		_, err = os.Stat(file)
	}
	if err == nil {
		return file
	}
	if must {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// TestServerConformance puts a server through everything that the official suite
// requires of one, by the last revision of each era.
func TestServerConformance(t *testing.T) {
	program := suite(t, "COLLET_CONFORMANCE_DIR", "conformance", "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	everything := "everything-server"
	if runtime.GOOS == "windows" {
		everything += ".exe"
	}
	everything = suite(t, "COLLET_GOSDK_DIR", "gosdk", everything)
	if v, err := exec.Command("node", "--version").Output(); err != nil || strings.HasPrefix(string(v), "v1") || strings.HasPrefix(string(v), "v20") {
		if _, must := os.LookupEnv("COLLET_CONFORMANCE_DIR"); must {
			t.Fatalf("no node that runs the suite: %s %v", v, err)
		}
		t.Skipf("no node that runs the suite: %s %v", v, err)
	}
	h := &relay{}
	for _, u := range []struct {
		to     **Client
		legacy bool
	}{{&h.modern, false}, {&h.legacy, true}} {
		*u.to = connectTo(t, peer{cmd: Command{Path: everything, Env: os.Environ()}}, Options{
			SkipProbe:      u.legacy,
			OnNotification: func(method string, params json.RawMessage) { h.notified(method, params) },
			OnRequest:      h.asked,
			Capabilities:   json.RawMessage(`{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}`),
		})
	}
	if _, err := h.legacy.Request(within(t), "logging/setLevel", json.RawMessage(`{"level":"debug"}`), RequestOptions{}); err != nil {
		t.Fatal(err)
	}
	h.server = NewServer(h, ServerOptions{Name: "relay", InputSchema: func(ctx context.Context, c *Caller, tool string) json.RawMessage {
		tools, err := h.upstream(c).ListTools(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, b := range tools {
			if name, _ := text(member(b, "name")); name == tool {
				return member(b, "inputSchema")
			}
		}
		return nil
	}})
	// The suite wants DNS rebinding refused, which is not this package's business.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Host, "127.0.0.1:") {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		h.server.HTTP().ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(func() { _ = h.server.Close(context.Background()) })
	url := front.URL + "/mcp"
	for _, test := range []struct {
		revision string
		passed   []string // some of what runs, so that a run of nothing is no pass
	}{
		{"2025-11-25", []string{"server-initialize", "tools-call-elicitation", "tools-call-sampling", "tools-call-with-progress", "tools-call-with-logging"}},
		{"2026-07-28", []string{"server-stateless", "tools-call-with-progress", "http-header-validation"}},
	} {
		t.Run(test.revision, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, "node", program, "server", "--url", url, "--requirements", test.revision, "--output-dir", t.TempDir()).CombinedOutput()
			_, summary, _ := strings.Cut(string(out), "=== SUMMARY ===")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Log(summary)
			for _, scenario := range test.passed {
				if !strings.Contains(summary, "✓ "+scenario+": ") {
					t.Errorf("%s did not pass", scenario)
				}
			}
		})
	}
}
