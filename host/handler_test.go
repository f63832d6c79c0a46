package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// A program serves all of its host's servers over HTTP, and a client lists their
// tools.
func ExampleHost_Handler() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mcp.toml")
	if err := os.WriteFile(file, []byte("[servers.hello]\nplugin = \"hello\"\nexposure = \"direct\"\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	h, err := host.Open(ctx, host.Options{ConfigFiles: []string{file}, PluginDirs: []string{built}, StateDir: dir, CacheDir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	face, err := h.Handler(host.HTTPOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(face)
	defer web.Close()
	defer face.Close(ctx)

	client, err := mcp.Dial(ctx, mcp.Endpoint{URL: web.URL + "/mcp"}, mcp.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	tools, err := client.ListTools(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools {
		fmt.Println(gjson.GetBytes(tool, "name"))
	}
	res, err := http.Get(web.URL + "/readyz")
	if err != nil {
		fmt.Println(err)
		return
	}
	res.Body.Close()
	fmt.Println(res.Status)
	// Output:
	// hello__greet
	// result_read
	// 200 OK
}

// endpoint serves a host's HTTP face in the test's process.
func endpoint(t *testing.T, h *host.Host, opt host.HTTPOptions) (url string) {
	t.Helper()
	face, err := h.Handler(opt)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(face)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		if err := face.Close(ctx); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return web.URL
}

// The handler is the face that collet serve has, with all of its checks.
func TestHandlerIsGuarded(t *testing.T) {
	t.Parallel()
	h := open(t, "[servers.n]\nplugin = \"hello\"\n")
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte(sharedToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	local, shared := endpoint(t, h, host.HTTPOptions{SSE: true}), endpoint(t, h, host.HTTPOptions{TokenFile: tokens, Origins: []string{"https://app.example.com"}})
	for _, c := range []struct {
		method, url string
		header      []string
		want        int
	}{
		{"POST", local + "/mcp", nil, 200},
		{"POST", local + "/mcp", []string{"Host", "evil.example:8080"}, 403},
		{"POST", local + "/mcp", []string{"Origin", "http://evil.example"}, 403},
		{"POST", local + "/mcp", []string{"Origin", "null"}, 403},
		{"POST", local + "/mcp", []string{"Origin", local}, 200},
		{"GET", local + "/sse", []string{"Origin", "http://evil.example"}, 403},
		{"POST", local + "/mcp/message?sessionId=none", nil, 404},
		{"GET", local + "/healthz", nil, 200},
		{"GET", local + "/healthz", []string{"Host", "evil.example"}, 403},
		{"GET", local + "/else", nil, 404},
		{"POST", local + "//mcp", nil, 404}, // nothing is a redirect
		{"POST", local + "/mcp/", nil, 404},
		{"POST", local + "/x/../mcp", nil, 404},
		{"PUT", local + "/mcp", nil, 405},
		{"POST", local + "/healthz", nil, 405},
		{"POST", shared + "/mcp", nil, 401},
		{"POST", shared + "/mcp", []string{"Authorization", "Bearer " + sharedToken}, 200},
		{"POST", shared + "/mcp", []string{"Authorization", "Bearer " + sharedToken, "Origin", "https://app.example.com"}, 200},
		{"GET", shared + "/healthz", nil, 200},
		{"GET", shared + "/else", nil, 401},
		{"GET", shared + "/.well-known/oauth-protected-resource", nil, 404},
	} {
		if res, body := exchange(t, c.method, c.url, pingBody, c.header...); res.StatusCode != c.want {
			t.Errorf("%s %s %v: %s, want %d: %s", c.method, c.url, c.header, res.Status, c.want, body)
		}
	}
	for _, bad := range []host.HTTPOptions{
		{TokenFile: tokens + ".none"}, {ScopedTokenFile: tokens + ".none"}, {Issuer: "https://login.example.com"},
		{Audiences: []string{"x"}}, {Hosts: []string{"*.example.com"}}, {Origins: []string{"null"}},
	} {
		if _, err := h.Handler(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// Serve ends with its ctx, also while a stream is open.
func TestHandlerServesUntilTheEnd(t *testing.T) {
	t.Parallel()
	h := open(t, "[servers.n]\nplugin = \"hello\"\nexposure = \"direct\"\n")
	face, err := h.Handler(host.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := face.Listen(t.Context(), ":0"); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("listening everywhere without credentials: %v", err)
	}
	l, err := face.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- face.Serve(ctx, l) }()
	c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: "http://" + l.Addr().String() + "/mcp"}, mcp.Options{OnNotification: func(string, json.RawMessage) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListTools(patient(t)); err != nil {
		t.Error(err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-patient(t).Done():
		t.Fatal("it goes on")
	}
	c.Close(context.WithoutCancel(t.Context()))
	if err := face.Close(patient(t)); err != nil {
		t.Error(err)
	}
}
