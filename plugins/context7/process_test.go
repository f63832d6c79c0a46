package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/fakeapi"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath is this plugin, built once.
var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

// plugin is one process of this plugin, as a host has it.
type plugin struct{ *adaptertest.Plugin }

// start starts the plugin with these variables besides the usual ones.
func start(t *testing.T, env ...string) *plugin {
	t.Helper()
	return &plugin{adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: append(launch.ShortEnv(os.Environ()), env...)})}
}

func (p *plugin) configure(t *testing.T, cfg config) error {
	t.Helper()
	return p.Settings(t, cfg)
}

// call returns the result of a tool, or the failure.
func (p *plugin) call(t *testing.T, tool, args string) (gjson.Result, error) {
	t.Helper()
	result, _, err := p.Call(t, tool, args)
	return gjson.ParseBytes(result), err
}

func TestProcess(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	// The variables that Context7's own server knows count here, too.
	p := start(t, "CONTEXT7_API_URL="+fake.URL, "CONTEXT7_API_KEY=ctx7sk-env")
	cfg := config{CacheDir: t.TempDir()}
	if err := p.configure(t, cfg); err != nil {
		t.Fatal(err)
	}
	got, err := p.call(t, "lookup", `{"library":"next.js","query":"check a cookie"}`)
	if err != nil || got.Get("structuredContent.libraryId").Str != "/vercel/next.js" || !got.Get("structuredContent.available").Bool() {
		t.Fatalf("lookup: %s, %v", got.Raw, err)
	}
	if asked := fake.Got(); len(asked) != 2 || asked[0].Header.Get("Authorization") != "Bearer ctx7sk-env" {
		t.Errorf("asked %v", asked)
	}
	fake.Next("search", fakeapi.Errors["rate limit"])
	_, err = p.call(t, "resolve-library-id", `{"libraryName":"vue","query":"q"}`)
	if f, ok := err.(*failure.Failure); !ok || f.Class != failure.RateLimited || f.RetryAfter != 42*time.Second || f.Delivery != failure.Answered {
		t.Errorf("a rate limit: %+v", err)
	}

	// Another process finds what this one kept; the config wins over the environment.
	fake.Got()
	q := start(t, "CONTEXT7_API_URL=http://127.0.0.1:1/", "CONTEXT7_API_KEY=ctx7sk-other")
	cfg.APIURL, cfg.APIKey = fake.URL, "ctx7sk-env"
	if err := q.configure(t, cfg); err != nil {
		t.Fatal(err)
	}
	if got, err := q.call(t, "lookup", `{"library":"next.js","query":"check a cookie"}`); err != nil || !got.Get("structuredContent.available").Bool() {
		t.Errorf("kept by another process: %s, %v", got.Raw, err)
	}
	if asked := fake.Got(); len(asked) != 0 {
		t.Errorf("asked again: %v", asked)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	p := start(t)
	for path, cfg := range map[string]config{
		"/cache_ttl": {CacheTTL: "long"},
		"/upstream":  {Upstream: "pip"},
		"/cache_dir": {CacheDir: "here"},
		"/api_url":   {APIURL: "http://ctx.corp.example/api", APIKey: "ctx7sk-secret"},
	} {
		f := failure.Classify(p.configure(t, cfg))
		if f == nil || f.Class != failure.InvalidArguments || len(f.Problems) != 1 || f.Problems[0].Path != path || strings.Contains(f.Message, "secret") {
			t.Errorf("%s: %+v", path, f)
		}
	}
	if err := p.configure(t, config{CacheTTL: "0s"}); err != nil {
		t.Error(err)
	}
}
