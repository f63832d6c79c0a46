package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/websearch/internal/fakesearch"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath is this plugin, built once.
var pluginPath string

func TestMain(m *testing.M) {
	if os.Getenv(asSearch) != "" {
		serveStdio()
		return
	}
	adaptertest.Main(m, &pluginPath)
}

// start starts the plugin with an environment of these variables alone.
func start(t *testing.T, env ...string) *adaptertest.Plugin {
	t.Helper()
	return adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: append(launch.ShortEnv(os.Environ()), env...)})
}

func configure(t *testing.T, p *adaptertest.Plugin, config string) error {
	t.Helper()
	return p.Settings(t, json.RawMessage(config))
}

// serve starts the plugin with a config.
func serve(t *testing.T, config string, env ...string) *adaptertest.Plugin {
	t.Helper()
	p := start(t, env...)
	if err := configure(t, p, config); err != nil {
		t.Fatalf("Configure: %v", err)
	}
	return p
}

// call returns the result of a call, or the failure it ended in.
func call(t *testing.T, p *adaptertest.Plugin, tool, args string) (gjson.Result, *failure.Failure) {
	t.Helper()
	result, _, err := p.Call(t, tool, args)
	f, ok := errors.AsType[*failure.Failure](err)
	if err != nil && !ok {
		t.Fatalf("call %s: %v", tool, err)
	}
	return gjson.ParseBytes(result), f
}

func mustCall(t *testing.T, p *adaptertest.Plugin, tool, args string) gjson.Result {
	t.Helper()
	r, f := call(t, p, tool, args)
	if f != nil {
		t.Fatalf("call %s: %s: %v", tool, f.Class, f)
	}
	return r
}

func wantFailure(t *testing.T, f *failure.Failure, class failure.Class, says string) {
	t.Helper()
	if f == nil || f.Class != class || !strings.Contains(f.Error(), says) {
		t.Fatalf("failure %+v, want %s: ...%s...", f, class, says)
	}
}

func TestTools(t *testing.T) {
	resp, err := serve(t, `{}`).ListTools(adaptertest.Within(t), &adapterpb.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range resp.GetTools() {
		names = append(names, tool.GetName())
		d := gjson.ParseBytes(tool.GetDefinition())
		if !tool.GetReadOnly() || !d.Get("outputSchema.properties").Exists() || !d.Get("annotations.readOnlyHint").Bool() || d.Get("icons").Exists() {
			t.Errorf("definition %s", d.Raw)
		}
	}
	if got := strings.Join(names, " "); got != "fetch research_company search" {
		t.Errorf("tools %s", got)
	}
}

func TestSearchThroughTheChain(t *testing.T) {
	brave, tavily := fakesearch.Start(t, "brave"), fakesearch.Start(t, "tavily")
	brave.Next(fakesearch.BraveQuota)
	config := fmt.Sprintf(`{"brave":{"url":%q},"tavily":{"url":%q,"key":%q}}`, brave.URL, tavily.URL, fakesearch.Key)
	p := serve(t, config, "BRAVE_API_KEY="+fakesearch.Key)
	for i, want := range []string{"brave quota, tavily ok", "brave skipped, tavily ok"} {
		r := mustCall(t, p, "search", `{"query":"collet"}`)
		var attempts []string
		for _, a := range r.Get("structuredContent.attempts").Array() {
			attempts = append(attempts, a.Get("provider").String()+" "+a.Get("status").String())
		}
		if got := strings.Join(attempts, ", "); got != want {
			t.Errorf("search %d: attempts %s, want %s", i, got, want)
		}
		if r.Get("structuredContent.results.0.url").String() != "https://example.org/t" || !r.Get(`_meta.collet\.dev/untrusted`).Bool() {
			t.Errorf("result %s", r.Raw)
		}
		if strings.Contains(r.Raw, fakesearch.Key) {
			t.Errorf("the result tells the key: %s", r.Raw)
		}
	}
	if n := len(brave.Seen()); n != 1 {
		t.Errorf("brave was asked %d times, want once: its quota is used up", n)
	}
	_, f := call(t, p, "search", `{"query":"collet","provider":"brave"}`)
	wantFailure(t, f, failure.RateLimited, "quota is used up")
	if f.Delivery != failure.NotSent || f.RetryAfter != 0 {
		t.Errorf("failure %+v: a quota has no retry-after, and nothing was sent", f)
	}
}

func TestNothingConfigured(t *testing.T) {
	_, f := call(t, serve(t, `{}`), "search", `{"query":"collet"}`)
	wantFailure(t, f, failure.AuthFailure, "BRAVE_API_KEY")
}

// What is missing is said before anybody searches.
func TestHealth(t *testing.T) {
	for config, want := range map[string]adapterpb.Health_State{`{}`: adapterpb.Health_STATE_DEGRADED, `{"brave":{"key":"k"}}`: adapterpb.Health_STATE_READY} {
		stream, err := serve(t, config).Watch(adaptertest.Within(t), &adapterpb.WatchRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var h *adapterpb.Health
		for h.GetState() <= adapterpb.Health_STATE_CONNECTING {
			ev, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if h = ev.GetHealth(); ev.GetSnapshot() != nil {
				h = ev.GetSnapshot().GetHealth()
			}
		}
		if says := h.GetFailure().GetMessage(); h.GetState() != want || (want == adapterpb.Health_STATE_DEGRADED) != strings.HasPrefix(says, "no search provider is configured: set one of") {
			t.Errorf("%s: %s, %q", config, h.GetState(), says)
		}
	}
}

func TestBadArguments(t *testing.T) {
	f := fakesearch.Start(t, "searxng")
	p := serve(t, `{"searxng":{"url":"`+f.URL+`"}}`)
	for _, c := range []struct{ tool, args, says string }{
		{"search", `{"query":"  "}`, "empty"},
		{"search", `{"query":"` + strings.Repeat("x", 401) + `"}`, "longer"},
		{"search", `{"query":"x","max_results":11}`, "at most 10"},
		{"search", `{"query":"x","kind":"images"}`, "one of"},
		{"search", `{"query":"x","freshness":"hour"}`, "no freshness"},
		{"search", `{"query":"x","domains":["https://example.org/"]}`, "a domain is a name"},
		{"search", `{"query":"x","exclude_domains":["a b"]}`, "a domain is a name"},
		{"search", `{"query":"x","country":"Germany"}`, "two letters"},
		{"search", `{"query":"x","provider":"brave"}`, "configured: searxng"},
		{"fetch", `{"url":"file:///etc/passwd"}`, "only http and https"},
		{"fetch", `{"url":"http://user:pw@example.org/"}`, "password"},
		{"fetch", `{"url":"http://127.0.0.1/"}`, "not a public one"},
	} {
		_, got := call(t, p, c.tool, c.args)
		wantFailure(t, got, failure.InvalidArguments, c.says)
	}
	if n := len(f.Seen()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestBadConfig(t *testing.T) {
	p := start(t)
	for _, c := range []struct{ config, path string }{
		{`{"brave":{"key":"a b"}}`, "/brave/key"},
		{`{"brave":{"key":"k","url":"ftp://x"}}`, "/brave/url"},
		{`{"searxng":{"url":"localhost:8080"}}`, "/searxng/url"},
		{`{"providers":["brave"]}`, "/providers/0"},
		{`{"keyless":true,"providers":["tavily-keyless","tavily-keyless"]}`, "/providers/1"},
		{`{"fetch_networks":["10.0.0.1"]}`, "/fetch_networks/0"},
		{`{"mcp":{"team":{"url":"stdio"}}}`, "/mcp/team"},
		{`{"bing":{"key":"k"}}`, "/bing"},
	} {
		f := failure.Classify(configure(t, p, c.config))
		if f == nil || f.Class != failure.InvalidArguments || len(f.Problems) != 1 || f.Problems[0].Path != c.path {
			t.Errorf("%s: failure %+v, want one about %s", c.config, f, c.path)
		}
	}
}

func TestFetchThroughThePlugin(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>T</title><script>evil()</script><h1>Head</h1><p>Some <b>text</b>.")
	}))
	t.Cleanup(s.Close)
	p := serve(t, `{"fetch_networks":["127.0.0.0/8","::1/128"]}`)
	r := mustCall(t, p, "fetch", `{"url":"`+s.URL+`/"}`)
	text := r.Get("structuredContent.text").String()
	if !strings.Contains(text, "Some **text**.") || strings.Contains(text, "evil") || !r.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("result %s", r.Raw)
	}
	if got := r.Get("content.0.text").String(); !strings.HasPrefix(got, "# ") || !strings.HasSuffix(got, text) {
		t.Errorf("text %q", got)
	}
	r = mustCall(t, p, "fetch", `{"url":"`+s.URL+`/","max_chars":4}`)
	if got := r.Get("content.0.text").String(); !strings.HasSuffix(got, "up to 200000.]") || !r.Get("structuredContent.truncated").Bool() {
		t.Errorf("result %s", r.Raw)
	}
	r = mustCall(t, p, "fetch", `{"url":"`+s.URL+`/missing"}`)
	if !r.Get("isError").Bool() || !strings.Contains(r.Raw, "404 Not Found") {
		t.Errorf("result %s", r.Raw)
	}
}

func TestSecretsAreMarked(t *testing.T) {
	out, err := exec.Command(pluginPath, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		ConfigSchema json.RawMessage `json:"configSchema"`
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"brave", "tavily", "exa", "serper"} {
		if !gjson.GetBytes(d.ConfigSchema, "properties."+name+".properties.key.x-collet-secret").Bool() {
			t.Errorf("the key of %s is not marked as a secret", name)
		}
	}
}

func TestMCPProviderAndTheOrder(t *testing.T) {
	brave, team := fakesearch.Start(t, "brave"), fakesearch.StartMCP(t, fakesearch.ExaTool, fakesearch.ExaAnswer)
	config := fmt.Sprintf(`{"providers":["mcp:team","brave"],"brave":{"url":%q,"key":%q},"mcp":{"team":{"url":%q}}}`, brave.URL, fakesearch.Key, team.URL)
	r := mustCall(t, serve(t, config), "search", `{"query":"collet","max_results":1}`).Get("structuredContent")
	if r.Get("provider").String() != "mcp:team" || r.Get("results.#").Int() != 1 || !r.Get("truncated").Bool() || len(brave.Seen()) != 0 {
		t.Errorf("result %s", r.Raw)
	}
}

// TestKeylessOnlyWhenAskedFor looks at who would be asked, and asks nobody.
func TestKeylessOnlyWhenAskedFor(t *testing.T) {
	for config, want := range map[string]string{
		`{"brave":{"key":"k"}}`:                                        `configured: brave`,
		`{"brave":{"key":"k"},"keyless":true}`:                         `configured: brave, tavily-keyless, mcp:parallel, mcp:exa`,
		`{"keyless":true,"mcp":{"exa":{"url":"http://127.0.0.1:1/"}}}`: `configured: mcp:exa, tavily-keyless, mcp:parallel`,
	} {
		_, f := call(t, serve(t, config), "search", `{"query":"x","provider":"nobody"}`)
		wantFailure(t, f, failure.InvalidArguments, want)
		if !strings.HasSuffix(f.Error(), want) {
			t.Errorf("%s: %v, want ...%s", config, f, want)
		}
	}
}
