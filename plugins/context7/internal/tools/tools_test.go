package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/api"
	"github.com/collet-dev/collet/plugins/context7/internal/fakeapi"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

func over(t *testing.T) (*adapter.Tools, *fakeapi.Server) {
	t.Helper()
	fake := fakeapi.Start(t)
	client, err := api.New(api.Options{URL: fake.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return New(client), fake
}

// call returns a result whose structuredContent fits the tool's outputSchema.
func call(t *testing.T, tools *adapter.Tools, tool, args string) (gjson.Result, error) {
	t.Helper()
	res, err := tools.Call(t.Context(), &adapter.Call{Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		return gjson.Result{}, err
	}
	got := gjson.ParseBytes(res.JSON)
	if res.IsError {
		return got, nil
	}
	list, err := tools.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range list {
		if def.Name != tool {
			continue
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal([]byte(gjson.GetBytes(def.Definition, "outputSchema").Raw), &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(got.Get("structuredContent").Value()); err != nil {
			t.Errorf("%s: structuredContent %s: %v", tool, got.Get("structuredContent").Raw, err)
		}
	}
	if !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("%s is not labelled: %s", tool, got.Get("_meta").Raw)
	}
	return got, nil
}

func TestDefinitions(t *testing.T) {
	tools, _ := over(t)
	list, err := tools.Tools(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	for _, tool := range list {
		def := gjson.ParseBytes(tool.Definition)
		if tool.ReadOnly == nil || !*tool.ReadOnly || tool.Idempotent == nil || !*tool.Idempotent || def.Get("icons").Exists() ||
			!def.Get("outputSchema").Exists() || len(def.Get("inputSchema.required").Array()) != 2 {
			t.Errorf("%s", tool.Definition)
		}
	}
}

func TestLookup(t *testing.T) {
	tools, fake := over(t)
	got, err := call(t, tools, "lookup", `{"library":"nextjs","query":"check a cookie","version":"15"}`)
	if err != nil {
		t.Fatal(err)
	}
	s := got.Get("structuredContent")
	if !s.Get("available").Bool() || s.Get("libraryId").Str != "/vercel/next.js/v15.1.8" || s.Get("version").Str != "v15.1.8" ||
		s.Get("library.title").Str != "Next.js" || s.Get("alternatives.0").Str != "/vercel/next-auth" || s.Get("code.0.language").Str != "typescript" {
		t.Errorf("got %s", s.Raw)
	}
	text := got.Get("content.0.text").Str
	for _, part := range []string{"# Next.js (/vercel/next.js/v15.1.8)", "/vercel/next-auth", "```typescript\nexport function middleware() {}\n```", "Middleware runs before"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
	asked := fake.Got()
	if len(asked) != 2 || asked[1].URL.Query().Get("libraryId") != "/vercel/next.js/v15.1.8" || asked[1].URL.Query().Get("type") != "json" {
		t.Errorf("asked %v", asked)
	}
}

func TestLookupByID(t *testing.T) {
	tools, fake := over(t)
	for args, want := range map[string]string{
		`{"library":"/vercel/next.js","query":"q"}`:                 "/vercel/next.js",
		`{"library":"/vercel/next.js","query":"q","version":"14"}`:  "/vercel/next.js/v14.3.0-canary.87",
		`{"library":"/someone/else","query":"q","version":"1.2.3"}`: "/someone/else/1.2.3",
	} {
		fake.Got()
		got, err := call(t, tools, "lookup", args)
		if err != nil || got.Get("structuredContent.libraryId").Str != want {
			t.Errorf("%s: %s, %v; want %s", args, got.Raw, err, want)
		}
		if n := len(fake.Got()); !strings.Contains(args, "version") && n != 1 {
			t.Errorf("%s: %d requests", args, n)
		}
	}
}

func TestLookupSaysWhatIsNotAsAskedFor(t *testing.T) {
	tools, fake := over(t)
	got, err := call(t, tools, "lookup", `{"library":"next.js","query":"q","version":"12"}`)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Get("structuredContent"); s.Get("version").Exists() || s.Get("libraryId").Str != "/vercel/next.js" ||
		!strings.Contains(s.Get("notes.0").Str, "version 12") || !strings.Contains(got.Get("content.0.text").Str, "v15.1.8") {
		t.Errorf("a version there is none of: %s", got.Raw)
	}
	fake.Next("context", fakeapi.Errors["redirected"])
	if got, err = call(t, tools, "lookup", `{"library":"next.js","query":"q"}`); err != nil {
		t.Fatal(err)
	}
	if s := got.Get("structuredContent"); s.Get("libraryId").Str != "/new-owner/new-repo" || !strings.Contains(s.Get("notes.0").Str, "has moved") {
		t.Errorf("a library that moved: %s", got.Raw)
	}
}

// TestLookupInPart: what the first half found is worth having when the second fails.
func TestLookupInPart(t *testing.T) {
	for name, want := range map[string]string{
		"rate limit": "Rate limit exceeded", "invalid key": "Invalid API key", "too large": "too large", "internal": "error occurred",
	} {
		tools, fake := over(t)
		fake.Next("context", fakeapi.Errors[name])
		got, err := call(t, tools, "lookup", `{"library":"next.js","query":"q"}`)
		if err != nil {
			t.Fatal(err)
		}
		s := got.Get("structuredContent")
		if s.Get("available").Bool() || !s.Get("available").Exists() || s.Get("libraryId").Str != "/vercel/next.js" ||
			!strings.Contains(s.Get("reason").Str, want) || !strings.Contains(got.Get("content.0.text").Str, want) {
			t.Errorf("%s: %s", name, got.Raw)
		}
		if after := s.Get("retryAfterSeconds").Int(); name == "rate limit" && after != 42 {
			t.Errorf("%s: again in %d s", name, after)
		}
	}
}

func TestNothingFound(t *testing.T) {
	tools, fake := over(t)
	got, err := call(t, tools, "lookup", `{"library":"nonexistent-lib","query":"q"}`)
	if err != nil || !got.Get("isError").Bool() || !strings.Contains(got.Get("content.0.text").Str, `"nonexistent-lib"`) {
		t.Errorf("lookup: %s, %v", got.Raw, err)
	}
	got, err = call(t, tools, "resolve-library-id", `{"libraryName":"nonexistent-lib","query":"q"}`)
	if err != nil || got.Get("structuredContent.libraries").Raw != "[]" || got.Get("content.0.text").Str != "No libraries found matching the provided name." {
		t.Errorf("resolve-library-id: %s, %v", got.Raw, err)
	}
	fake.Next("context", fakeapi.Errors["no tag"])
	got, err = call(t, tools, "query-docs", `{"libraryId":"/owner/repo/v1.0.0","query":"q"}`)
	if err != nil || !got.Get("isError").Bool() || !strings.Contains(got.Get("content.0.text").Str, "Available tags: v2.0.0") {
		t.Errorf("query-docs: %s, %v", got.Raw, err)
	}
}

func TestFailures(t *testing.T) {
	tools, fake := over(t)
	fake.Next("search", fakeapi.Errors["internal"], fakeapi.Errors["rate limit"])
	for _, want := range []failure.Class{failure.ServerError, failure.RateLimited} {
		if _, err := call(t, tools, "lookup", `{"library":"x","query":"q"}`); failure.Classify(err).Class != want {
			t.Errorf("the first half: %v, want %s", err, want)
		}
	}
	for tool, args := range map[string]string{
		"lookup": `{"library":"x"}`, "query-docs": `{"libraryId":"/a/b"}`, "resolve-library-id": `{"libraryName":3,"query":"q"}`,
	} {
		_, err := call(t, tools, tool, args)
		if f := failure.Classify(err); f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent || len(f.Problems) != 1 {
			t.Errorf("%s %s: %+v", tool, args, f)
		}
	}
}

func TestTheTwoOfContext7(t *testing.T) {
	tools, _ := over(t)
	got, err := call(t, tools, "resolve-library-id", `{"libraryName":"Next.js","query":"q"}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `Available Libraries:

- Title: Next Auth
- Context7-compatible library ID: /vercel/next-auth
- Description: Authentication for Next.js
- Code Snippets: 40
- Source Reputation: High
- Benchmark Score: 80
----------
- Title: Next.js
- Context7-compatible library ID: /vercel/next.js
- Description: The React framework
- Code Snippets: 2500
- Source Reputation: High
- Benchmark Score: 95.5
- Versions: v14.3.0-canary.87, v15.1.8`
	if text := got.Get("content.0.text").Str; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	got, err = call(t, tools, "query-docs", `{"libraryId":"/vercel/next.js","query":"q"}`)
	if err != nil || got.Get("content.0.text").Str != fakeapi.Text || got.Get("structuredContent.text").Str != fakeapi.Text {
		t.Errorf("query-docs: %s, %v", got.Raw, err)
	}
}
