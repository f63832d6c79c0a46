package main

import (
	"os"
	"testing"
)

// TestLive asks the real services: those whose keys are in the environment, the
// keyless ones, and one page.
func TestLive(t *testing.T) {
	if os.Getenv("COLLET_LIVE_TESTS") != "1" {
		t.Skip("COLLET_LIVE_TESTS=1 asks the real services")
	}
	var env []string
	names := []string{"tavily-keyless", "mcp:parallel", "mcp:exa"}
	for _, s := range []struct{ name, variable string }{
		{"searxng", "SEARXNG_URL"}, {"brave", "BRAVE_API_KEY"}, {"tavily", "TAVILY_API_KEY"}, {"exa", "EXA_API_KEY"}, {"serper", "SERPER_API_KEY"},
	} {
		if v := os.Getenv(s.variable); v != "" {
			env, names = append(env, s.variable+"="+v), append(names, s.name)
		}
	}
	p := serve(t, `{"keyless":true}`, env...)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			r := mustCall(t, p, "search", `{"query":"Go programming language","provider":"`+name+`"}`)
			if r.Get("structuredContent.results.#").Int() == 0 {
				t.Errorf("nothing found: %s", r.Raw)
			}
		})
	}
	t.Run("fetch", func(t *testing.T) {
		if r := mustCall(t, p, "fetch", `{"url":"https://go.dev/"}`); r.Get("structuredContent.text").String() == "" {
			t.Errorf("no text: %s", r.Raw)
		}
	})
}
