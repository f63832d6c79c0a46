// Command collet-plugin-mcp is the generic adapter: it serves any MCP server
// that mcp.toml names by command or by url. It knows no server in particular,
// and leaves its settings as the host resolved them.
package main

import (
	"context"
	"net/http"
	"slices"

	_ "github.com/collet-dev/collet/plugins/mcp/internal/oneproc"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

type config struct {
	Command string            `json:"command,omitempty" jsonschema:"the server's executable; without a slash it is looked up on the PATH of env"`
	Args    []string          `json:"args,omitempty" jsonschema:"its arguments"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"its complete environment: nothing is inherited" collet:"secret"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"its working directory, absolute"`

	URL     string            `json:"url,omitempty" jsonschema:"the endpoint of a server over HTTP, instead of command"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"sent with every request to url" collet:"secret"`
	CAFile  string            `json:"ca_file,omitempty" jsonschema:"certificates that url is checked against besides the system's"`
}

func main() {
	adapter.Main(adapter.Info{
		Name: "mcp", Version: "0.1.0", License: "Apache-2.0",
		Summary:     "Any MCP server, by command or url.",
		MCPVersions: []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"},
	}, open)
}

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	switch {
	case cfg.Command != "" && cfg.URL != "":
		return nil, invalid("/url", "oneOf", "command and url exclude each other: a server is either started or reached")
	case cfg.Command == "" && cfg.URL == "":
		return nil, invalid("/command", "required", "either command or url must say what the server is")
	case cfg.URL != "":
		return overHTTP(env, cfg)
	}
	return overStdio(env, cfg), nil
}

// overStdio serves a server that is a process of its own.
func overStdio(env *adapter.Env, cfg config) adapter.Server {
	cmd := mcp.Command{Path: cfg.Command, Args: cfg.Args, Env: environ(cfg.Env), Dir: cfg.Cwd}
	return mcpadapter.New(env, mcpadapter.Options{
		Connect: func(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
			opt.ClientInfo = clientInfo(env)
			return upstream(mcp.Start(ctx, cmd, opt))
		},
	})
}

// overHTTP serves a server that runs by itself, here or elsewhere.
func overHTTP(env *adapter.Env, cfg config) (adapter.Server, error) {
	at := mcp.Endpoint{URL: cfg.URL, Header: http.Header{}, CAFile: cfg.CAFile}
	for name, value := range cfg.Headers {
		at.Header.Set(name, value)
	}
	for _, part := range []struct {
		path string
		of   mcp.Endpoint
	}{
		{"/url", mcp.Endpoint{URL: at.URL}},
		{"/headers", mcp.Endpoint{URL: at.URL, Header: at.Header}},
		{"/ca_file", at},
	} {
		if err := part.of.Check(); err != nil {
			return nil, invalid(part.path, "format", failure.Classify(err).Message)
		}
	}
	tokens(env, &at)
	return mcpadapter.New(env, mcpadapter.Options{
		Remote: true,
		Connect: func(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
			opt.ClientInfo = clientInfo(env)
			return upstream(mcp.Dial(ctx, at, opt))
		},
	}), nil
}

func clientInfo(env *adapter.Env) mcp.ClientInfo {
	return mcp.ClientInfo{Name: "collet", Version: env.HostVersion}
}

// upstream keeps a nil *Client from becoming an interface that is not nil.
func upstream(c *mcp.Client, err error) (mcpadapter.Upstream, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// environ is env as a process takes it, in a fixed order.
func environ(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func invalid(path, rule, message string) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", message)
	f.Problems = []failure.Problem{{Path: path, Rule: rule, Message: message}}
	return f
}
