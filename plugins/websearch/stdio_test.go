package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/collet-dev/collet/plugins/websearch/internal/fakesearch"
	"github.com/collet-dev/collet/sdk/failure"
)

// asSearch, in the environment, makes the test binary a search server on its standard
// input, which wants its key there, too, and nobody else's.
const asSearch = "TEST_AS_SEARCH_SERVER"

const endNow = "end now" // a query that it does not survive

func serveStdio() {
	if os.Getenv("SEARCH_KEY") != fakesearch.Key || os.Getenv("BRAVE_API_KEY") != "" || len(os.Args) < 2 || os.Args[1] != "stdio" {
		fmt.Fprintln(os.Stderr, "started in another way than the config says")
		os.Exit(2)
	}
	server := &fakesearch.MCP{Tools: fakesearch.ExaTool, Answer: fakesearch.ExaAnswer}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if strings.Contains(lines.Text(), endNow) {
			return // in place of an answer
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(lines.Text())))
		if w.Code == http.StatusOK {
			fmt.Println(w.Body)
		}
	}
}

func TestSearchServerOfOnesOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, _ := json.Marshal(map[string]any{"mcp": map[string]any{
		"own":  map[string]any{"command": []string{self, "stdio"}, "env": map[string]string{asSearch: "1", "SEARCH_KEY": fakesearch.Key}},
		"zero": map[string]any{"command": []string{self + "-is-not-there"}},
	}})
	p := serve(t, string(config), "BRAVE_API_KEY=", "TAVILY_API_KEY=")
	for range 2 { // the second time over the same connection
		r := mustCall(t, p, "search", `{"query":"collet","provider":"mcp:own"}`)
		if s := r.Get("structuredContent"); s.Get("provider").Str != "mcp:own" || s.Get("results.0.url").Str != "https://example.org/x" {
			t.Fatalf("%s", r.Raw)
		}
	}
	_, f := call(t, p, "search", `{"query":"`+endNow+`","provider":"mcp:own"}`)
	wantFailure(t, f, failure.ConnectionRefused, "the server process ended")
	if r := mustCall(t, p, "search", `{"query":"collet","provider":"mcp:own"}`); r.Get("structuredContent.results.#").Int() == 0 {
		t.Errorf("started again: %s", r.Raw)
	}
	_, f = call(t, p, "search", `{"query":"collet","provider":"mcp:zero"}`)
	wantFailure(t, f, failure.ConnectionRefused, "is-not-there")

	p = serve(t, string(config), "BRAVE_API_KEY="+fakesearch.Key) // which it does not get to see
	if r := mustCall(t, p, "search", `{"query":"collet","provider":"mcp:own"}`); r.Get("structuredContent.results.#").Int() == 0 {
		t.Errorf("%s", r.Raw)
	}
}

func TestSearchServerConfig(t *testing.T) {
	for name, config := range map[string]string{
		"both":           `{"mcp":{"x":{"url":"https://a.example/mcp","command":["a"]}}}`,
		"neither":        `{"mcp":{"x":{}}}`,
		"env with a url": `{"mcp":{"x":{"url":"https://a.example/mcp","env":{"A":"b"}}}}`,
	} {
		err := configure(t, start(t), config)
		if f := failure.Classify(err); f == nil || f.Class != failure.InvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
}
