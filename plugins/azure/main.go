// Command collet-plugin-azure searches and reads Microsoft's documentation, of
// Azure above all, at Microsoft Learn. What it makes of Learn's tools is in
// internal/learn.
package main

import (
	"context"
	"time"

	"github.com/collet-dev/collet/plugins/azure/internal/learn"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

type config struct {
	LearnURL string `json:"learn_url,omitempty" jsonschema:"the MCP endpoint of Microsoft Learn; https://learn.microsoft.com/api/mcp when left out"`
}

func main() {
	adapter.Main(adapter.Info{
		Name: "azure", Version: "0.1.0", License: "Apache-2.0", Homepage: "https://learn.microsoft.com",
		Summary:        "Microsoft's documentation, from Microsoft Learn.",
		MCPVersions:    []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"},
		DefaultTimeout: 30 * time.Second,
	}, open)
}

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	s, err := learn.New(env, cfg.LearnURL)
	if err != nil {
		f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", failure.Classify(err).Message)
		f.Problems = []failure.Problem{{Path: "/learn_url", Rule: "format", Message: f.Message}}
		return nil, f
	}
	return s, nil
}
