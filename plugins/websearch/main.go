// Command collet-plugin-websearch searches the web with whichever search services
// it has been given, reads single pages, and looks into companies. Which services
// there are and what they answer is in internal/provider, who is asked next in
// internal/chain, what may be fetched in internal/guard.
package main

import (
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
)

// variables are where keys and addresses of services are looked for.
var variables = []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SERPER_API_KEY", "SEARXNG_URL"}

func main() {
	adapter.Main(adapter.Info{
		Name: "websearch", Version: "0.1.0", License: "Apache-2.0",
		Summary:        "Web search over several services, pages as Markdown, company research.",
		Environment:    variables,
		DefaultTimeout: 30 * time.Second,
	}, open)
}
