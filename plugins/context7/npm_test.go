package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/fakeapi"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
)

// overNPM is this plugin over Context7's real server, which asks the fake API.
// Where COLLET_NPM_DIR says that the server is there, it must be.
func overNPM(t *testing.T) (*plugin, *fakeapi.Server) {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", "..", ".cache", "npm")
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", "@upstash", "context7-mcp", "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil && !must {
		t.Skipf("no servers from npm, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_NPM_DIR names no servers from npm: %v", err)
	}
	fake := fakeapi.Start(t)
	p := start(t)
	if err := p.configure(t, config{Upstream: "npm", Command: []string{"node", path}, APIURL: fake.URL, APIKey: "ctx7sk-1"}); err != nil {
		t.Fatal(err)
	}
	return p, fake
}

func TestOverNPM(t *testing.T) {
	t.Parallel()
	p, fake := overNPM(t)
	resp, err := p.ListTools(adaptertest.Within(t), &adapterpb.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range resp.GetTools() {
		names = append(names, tool.GetName())
		def := gjson.ParseBytes(tool.GetDefinition())
		if tool.ReadOnly == nil || !tool.GetReadOnly() || len(tool.GetOutputSchema()) == 0 && !def.Get("outputSchema").Exists() {
			t.Errorf("%s promises nothing: %s", tool.GetName(), tool.GetDefinition())
		}
	}
	if strings.Join(names, " ") != "lookup query-docs resolve-library-id" {
		t.Errorf("tools %v", names)
	}

	got, err := p.call(t, "lookup", `{"library":"nextjs","query":"check a cookie","version":"15"}`)
	if s := got.Get("structuredContent"); err != nil || !s.Get("available").Bool() || s.Get("libraryId").Str != "/vercel/next.js/v15.1.8" ||
		s.Get("text").Str != fakeapi.Text || !strings.Contains(got.Get("content.0.text").Str, fakeapi.Text) {
		t.Errorf("lookup: %s, %v", got.Raw, err)
	}
	if asked := fake.Got(); len(asked) != 2 || asked[0].Header.Get("Authorization") != "Bearer ctx7sk-1" {
		t.Errorf("asked %v", asked)
	}
	got, err = p.call(t, "resolve-library-id", `{"libraryName":"next.js","query":"q"}`)
	if err != nil || got.Get("structuredContent.libraries.1.libraryId").Str != "/vercel/next.js" ||
		!strings.HasPrefix(got.Get("content.0.text").Str, "Available Libraries:") || !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("resolve-library-id: %s, %v", got.Raw, err)
	}
	// What both upstreams say of the same libraries is the same text.
	direct := start(t)
	if err := direct.configure(t, config{APIURL: fake.URL, CacheTTL: "0s"}); err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string]string{
		"resolve-library-id": `{"libraryName":"next.js","query":"q"}`, "query-docs": `{"libraryId":"/vercel/next.js","query":"q"}`,
	} {
		over, err := p.call(t, tool, args)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := direct.call(t, tool, args)
		if a, b := over.Get("content.0.text").Str, alone.Get("content.0.text").Str; err != nil || a != b {
			t.Errorf("%s: the server says\n%s\nand without it, it is\n%s\n%v", tool, a, b, err)
		}
	}
	// Moved libraries are followed, and bad arguments stay the tool's own answer.
	fake.Next("context", fakeapi.Errors["redirected"])
	if got, err = p.call(t, "lookup", `{"library":"/owner/repo","query":"q"}`); err != nil || got.Get("structuredContent.libraryId").Str != "/new-owner/new-repo" {
		t.Errorf("a library that moved: %s, %v", got.Raw, err)
	}
	if got, err = p.call(t, "query-docs", `{"libraryId":7,"query":"q"}`); err != nil || !got.Get("isError").Bool() {
		t.Errorf("a bad argument: %s, %v", got.Raw, err)
	}
	if got, err = p.call(t, "lookup", `{"library":"nonexistent-lib","query":"q"}`); err != nil || !got.Get("isError").Bool() {
		t.Errorf("nothing found: %s, %v", got.Raw, err)
	}
}

// TestWhatTheServerCallsSuccess puts every error of the API through the real
// server, which answers all of them as if nothing were wrong.
func TestWhatTheServerCallsSuccess(t *testing.T) {
	t.Parallel()
	p, fake := overNPM(t)
	failures := map[string]failure.Class{
		"validation": failure.InvalidArguments, "invalid id": failure.InvalidArguments, "invalid key": failure.AuthFailure,
		"spending limit": failure.RateLimited, "access denied": failure.AuthFailure, "plan required": failure.AuthFailure,
		"rate limit": failure.RateLimited, "quota": failure.RateLimited, "internal": failure.ServerError,
		"bad gateway": failure.ServerError, "search failed": failure.ServerError, "timed out": failure.Timeout,
	}
	for name, answer := range fakeapi.Errors {
		fake.Next("context", answer)
		got, err := p.call(t, "query-docs", `{"libraryId":"/owner/repo","query":"q"}`)
		class, fails := failures[name]
		switch {
		case fails:
			if f, ok := err.(*failure.Failure); !ok || f.Class != class || f.Delivery != failure.Answered {
				t.Errorf("%s: %s, %+v; want %s", name, got.Raw, err, class)
			}
		case name == "none found": // never of a library's documentation
		case err != nil || !got.Get("isError").Bool():
			t.Errorf("%s: %s, %v; want isError", name, got.Raw, err)
		}
	}
	fake.Next("context", fakeapi.Errors["quota"])
	got, err := p.call(t, "lookup", `{"library":"next.js","query":"q"}`)
	if s := got.Get("structuredContent"); err != nil || s.Get("available").Bool() || !strings.Contains(s.Get("reason").Str, "Monthly quota") {
		t.Errorf("lookup in part: %s, %v", got.Raw, err)
	}
	fake.Stop()
	for tool, args := range map[string]string{
		"resolve-library-id": `{"libraryName":"next.js","query":"q"}`, "query-docs": `{"libraryId":"/a/b","query":"q"}`, "lookup": `{"library":"x","query":"q"}`,
	} {
		_, err := p.call(t, tool, args)
		if f, ok := err.(*failure.Failure); !ok || f.Class != failure.ConnectionRefused || !strings.Contains(f.Message, "could not reach the API") {
			t.Errorf("%s without the API: %+v", tool, err)
		}
	}
}
