// Command collet-plugin-github is the adapter for GitHub's MCP server: the hosted
// one, or a github-mcp-server that it starts. It finds the token, offers few tools
// unless told otherwise, and says truthfully what became of a call.
package main

import (
	"context"
	"net/http"
	"time"

	"github.com/collet-dev/collet/plugins/github/internal/token"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

func main() {
	adapter.Main(adapter.Info{
		Name: "github", Version: "0.1.0", License: "Apache-2.0",
		Summary:        "GitHub: repositories, files, issues, through its own MCP server.",
		Environment:    []string{token.Variable, "GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"}, // the last two are gh's
		MCPVersions:    mcp.Versions(),
		DefaultTimeout: time.Minute,
	}, open)
}

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	tokens := &token.Source{Config: cfg.Token, Host: cfg.host(), Own: cfg.Command == "" && !token.OwnHost(cfg.endpoint())}
	opt := mcpadapter.Options{Connect: local(cfg, tokens), Shape: shape(cfg, tokens)}
	if cfg.Command == "" {
		at := mcp.Endpoint{URL: cfg.endpoint(), Header: cfg.headers()}
		if err := at.Check(); err != nil {
			return nil, err
		}
		at.Authorize = bearer(tokens)
		opt.Connect, opt.Remote = remote(at), true
	}
	return mcpadapter.New(env, opt), nil
}

type connect = func(context.Context, *adapter.Env, mcp.Options) (mcpadapter.Upstream, error)

func remote(at mcp.Endpoint) connect {
	return func(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
		opt.ClientInfo = clientInfo(env)
		return upstream(mcp.Dial(ctx, at, opt))
	}
}

func local(cfg config, tokens *token.Source) connect {
	return func(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
		value, err := tokens.Get(ctx)
		if err != nil {
			return nil, err
		}
		opt.ClientInfo = clientInfo(env)
		return upstream(mcp.Start(ctx, cfg.local(value), opt))
	}
}

func bearer(tokens *token.Source) func(context.Context) (http.Header, error) {
	return func(ctx context.Context) (http.Header, error) {
		value, err := tokens.Get(ctx)
		if err != nil {
			return nil, err
		}
		return http.Header{"Authorization": {"Bearer " + value}}, nil
	}
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
