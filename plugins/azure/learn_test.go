package main

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/azure/internal/fakelearn"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
)

func overLearn(t *testing.T) (*plugin, *fakelearn.Server) {
	t.Helper()
	fake := fakelearn.Start(t)
	p := start(t)
	if err := p.configure(t, config{LearnURL: fake.URL, DocsOnly: true}); err != nil {
		t.Fatal(err)
	}
	return p, fake
}

func (p *plugin) tools(t *testing.T) map[string]*adapterpb.Tool {
	t.Helper()
	resp, err := p.ListTools(adaptertest.Within(t), &adapterpb.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]*adapterpb.Tool{}
	for _, tool := range resp.GetTools() {
		list[tool.GetName()] = tool
	}
	return list
}

func TestTools(t *testing.T) {
	t.Parallel()
	p, _ := overLearn(t)
	list := p.tools(t)
	if len(list) != 4 {
		t.Errorf("%d tools", len(list))
	}
	for _, name := range []string{"documentation", "microsoft_docs_search", "microsoft_code_sample_search", "microsoft_docs_fetch"} {
		tool := list[name]
		if tool == nil || !tool.GetReadOnly() || !tool.GetIdempotent() || strings.Contains(string(tool.GetDefinition()), "icons") {
			t.Errorf("%s: %v", name, tool)
		} else if has := gjson.GetBytes(tool.GetDefinition(), "outputSchema").Exists() || gjson.ValidBytes(tool.GetOutputSchema()); !has && name != "microsoft_docs_fetch" {
			t.Errorf("%s has no output schema", name)
		}
	}
}

func TestDocumentation(t *testing.T) {
	t.Parallel()
	p, fake := overLearn(t)
	got, err := p.call(t, "documentation", `{"query":"rotate <keys> \"now\"","language":"azurecli"}`)
	s := got.Get("structuredContent")
	if err != nil || !s.Get("available").Bool() || s.Get("results.0.contentUrl").Str != "https://learn.microsoft.com/azure/storage/keys" ||
		s.Get("samples.0.codeSnippet").Str != "az storage account keys renew" || !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("got %s, %v", got.Raw, err)
	}
	if text := got.Get("content.0.text").Str; !strings.Contains(text, "## Rotate keys") || !strings.Contains(text, "Use <two> keys & rotate.") || !strings.Contains(text, "```azurecli\naz storage") {
		t.Errorf("the text is\n%s", text)
	}
	called := fake.Called()
	if len(called) != 2 || gjson.Get(called[0], "arguments.query").Str != `rotate <keys> "now"` || gjson.Get(called[1], "arguments.language").Str != "azurecli" {
		t.Errorf("called %v", called)
	}
	if _, err = p.call(t, "documentation", `{"query":"q"}`); err != nil || len(fake.Called()) != 1 {
		t.Errorf("without a language: %v", err)
	}
}

func TestLearnsOwnTools(t *testing.T) {
	t.Parallel()
	p, _ := overLearn(t)
	got, err := p.call(t, "microsoft_docs_search", `{"query":"q"}`)
	if err != nil || got.Get("structuredContent.results.0.title").Str != "Rotate keys" || got.Get("content.0.text").Str != fakelearn.Pages || !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("search: %s, %v", got.Raw, err)
	}
	got, err = p.call(t, "microsoft_docs_fetch", `{"url":"https://learn.microsoft.com/azure/storage/keys"}`)
	if err != nil || got.Get("content.0.text").Str != fakelearn.Page || !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("fetch: %s, %v", got.Raw, err)
	}
	if got, err = p.call(t, "microsoft_docs_fetch", `{"url":"https://learn.microsoft.com/nowhere"}`); err != nil || !got.Get("isError").Bool() {
		t.Errorf("a page there is none of: %s, %v", got.Raw, err)
	}
}

// TestInPart: what was found stays when the samples cannot be had.
func TestInPart(t *testing.T) {
	t.Parallel()
	p, fake := overLearn(t)
	p.tools(t)
	if _, err := p.call(t, "microsoft_docs_search", `{"query":"q"}`); err != nil {
		t.Fatal(err)
	}
	fake.Next(nil, fakelearn.Status(429, "Retry-After", "42")) // the first search is answered
	got, err := p.call(t, "documentation", `{"query":"q","language":"go"}`)
	if s := got.Get("structuredContent"); err != nil || !s.Get("available").Bool() || len(s.Get("results").Array()) != 1 || s.Get("samples").Exists() ||
		!strings.HasPrefix(s.Get("notes.0").Str, "no code samples: ") {
		t.Errorf("no samples: %s, %v", got.Raw, err)
	}
	fake.Next(fakelearn.Result("Sorry, something went wrong."))
	if _, err = p.call(t, "microsoft_docs_search", `{"query":"q"}`); failure.Classify(err).Class != failure.InvalidResult {
		t.Errorf("prose in place of results: %v", err)
	}
	fake.Next(fakelearn.Status(429, "Retry-After", "42"))
	got, err = p.call(t, "documentation", `{"query":"q"}`)
	if s := got.Get("structuredContent"); err != nil || s.Get("available").Bool() || s.Get("retryAfterSeconds").Int() != 42 || s.Get("results").Raw != "[]" {
		t.Errorf("a rate limit: %s, %v", got.Raw, err)
	}
	fake.Next(fakelearn.Status(500))
	if _, err = p.call(t, "documentation", `{"query":"q"}`); failure.Classify(err).Class != failure.ServerError {
		t.Errorf("a fault of Learn's: %v", err)
	}
	fake.Next(fakelearn.Status(429, "Retry-After", "42"))
	if _, err = p.call(t, "microsoft_docs_search", `{"query":"q"}`); failure.Classify(err).Class != failure.RateLimited {
		t.Errorf("a rate limit of its own tool: %v", err)
	}
}

// TestNobodyThere: the tool is listed without a network, and says that there is none.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	p := start(t)
	if err := p.configure(t, config{LearnURL: "http://127.0.0.1:1/api/mcp", DocsOnly: true}); err != nil {
		t.Fatal(err)
	}
	if list := p.tools(t); len(list) != 1 || list["documentation"] == nil {
		t.Errorf("tools %v", list)
	}
	got, err := p.call(t, "documentation", `{"query":"q"}`)
	if s := got.Get("structuredContent"); err != nil || s.Get("available").Bool() || !strings.Contains(s.Get("reason").Str, "cannot be asked") {
		t.Errorf("got %s, %v", got.Raw, err)
	}
}
