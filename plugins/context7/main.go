// Command collet-plugin-context7 looks up documentation of libraries at
// Context7. It opens what its config asks for; the tools are in internal/tools.
package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/plugins/context7/internal/api"
	"github.com/collet-dev/collet/plugins/context7/internal/cache"
	"github.com/collet-dev/collet/plugins/context7/internal/npm"
	"github.com/collet-dev/collet/plugins/context7/internal/tools"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

const version = "0.1.0"

type config struct {
	APIKey   string   `json:"api_key,omitempty" jsonschema:"a Context7 key (ctx7sk...); else CONTEXT7_API_KEY; without one, limits are low" collet:"secret"`
	APIURL   string   `json:"api_url,omitempty" jsonschema:"where the API is; else CONTEXT7_API_URL, else https://context7.com/api"`
	Upstream string   `json:"upstream,omitempty" jsonschema:"rest, or npm for Context7's own MCP server; rest when left out"`
	Command  []string `json:"command,omitempty" jsonschema:"with npm, how the server is started: program and arguments; context7-mcp from the PATH or else npx when left out"`
	CacheTTL string   `json:"cache_ttl,omitempty" jsonschema:"how long answers are kept on disk: 12h; 0s keeps none; 24h when left out"`
	CacheDir string   `json:"cache_dir,omitempty" jsonschema:"where; collet/context7 in the user's cache directory when left out"`
}

func main() {
	adapter.Main(adapter.Info{
		Name: "context7", Version: version, License: "Apache-2.0", Homepage: "https://context7.com",
		Summary:        "Current documentation of libraries, from Context7.",
		Environment:    []string{"CONTEXT7_API_KEY", "CONTEXT7_API_URL"},
		MCPVersions:    []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"},
		DefaultTimeout: 30 * time.Second,
		// npx downloads the server when it starts it for the first time.
		DefaultStartTimeout: 2 * time.Minute,
	}, open)
}

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	url, key := cmp.Or(cfg.APIURL, os.Getenv("CONTEXT7_API_URL")), cmp.Or(cfg.APIKey, os.Getenv("CONTEXT7_API_KEY"))
	if key == "" {
		env.Log.Info("no API key: requests are anonymous and have a low limit; " + api.WithoutKey)
	}
	switch cfg.Upstream {
	case "", "rest":
		return overREST(env, cfg, url, key)
	case "npm":
		return npm.New(env, npm.Options{Command: cfg.Command, URL: url, Key: key}), nil
	default:
		return nil, invalid("/upstream", "enum", "upstream must be rest or npm")
	}
}

func overREST(env *adapter.Env, cfg config, url, key string) (adapter.Server, error) {
	answers, err := openCache(env, cfg)
	if err != nil {
		return nil, err
	}
	client, err := api.New(api.Options{
		URL: url, Key: key, Agent: "collet-plugin-context7/" + version, Cache: answers,
	})
	if err != nil {
		return nil, invalid("/api_url", "format", err.Error())
	}
	return tools.New(client), nil
}

// openCache returns nil where nothing is to be kept, and where nothing can be:
// then the API is asked each time.
func openCache(env *adapter.Env, cfg config) (*cache.Dir, error) {
	ttl, err := time.ParseDuration(cmp.Or(cfg.CacheTTL, "24h"))
	if err != nil || ttl < 0 {
		return nil, invalid("/cache_ttl", "format", "cache_ttl must be a duration such as 12h or 90m, or 0s for none")
	}
	if ttl == 0 {
		return nil, nil
	}
	path := cfg.CacheDir
	if path == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			env.Log.Warn("answers are not kept", "error", err)
			return nil, nil
		}
		path = filepath.Join(base, "collet", "context7")
	} else if !filepath.IsAbs(path) {
		return nil, invalid("/cache_dir", "format", "cache_dir must be an absolute path")
	}
	dir, err := cache.Open(path, ttl)
	if err != nil {
		env.Log.Warn("answers are not kept", "error", err)
		return nil, nil
	}
	return dir, nil
}

func invalid(path, rule, message string) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", message)
	f.Problems = []failure.Problem{{Path: path, Rule: rule, Message: message}}
	return f
}
