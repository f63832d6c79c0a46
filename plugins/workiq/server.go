package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/collet-dev/collet/plugins/workiq/internal/truth"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// server is Work IQ's MCP server as this adapter serves it. It is no
// adapter.Forwarder: what is read beside tools would need nobody's consent.
type server struct {
	adapter.Server
	adapter.Watcher
	adapter.Closer

	cfg config
	up  mcpadapter.Caller
}

func newServer(env *adapter.Env, cfg config) *server {
	s := &server{cfg: cfg}
	shape := cfg.shape()
	shape.Own = func(up mcpadapter.Caller) *adapter.Tools {
		s.up = up
		return &adapter.Tools{} // it adds none
	}
	inner := mcpadapter.New(env, mcpadapter.Options{Connect: cfg.connect, Shape: shape})
	s.Server, s.Watcher, s.Closer = inner, inner.(adapter.Watcher), inner.(adapter.Closer)
	return s
}

func (c config) connect(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
	cmd := c.process(os.Environ())
	if _, err := mcp.LookPath(cmd); err != nil && len(c.Command) == 0 {
		return nil, failure.New(failure.ConnectionRefused, failure.NotSent,
			"Work IQ is not installed: neither workiq nor npx is on the PATH; install Node.js, or %s with npm install -g, or set command", pinned)
	}
	opt.ClientInfo = mcp.ClientInfo{Name: "collet", Version: env.HostVersion}
	client, err := mcp.Start(ctx, cmd, opt)
	if err != nil {
		return nil, err
	}
	return client, nil
}

// Call implements adapter.Server. A call that was refused because of the licence,
// which happens now and then after it was accepted too, is made again once the
// licence is accepted, if a person has said that it is to be.
func (s *server) Call(ctx context.Context, call *adapter.Call) (*adapter.Result, error) {
	res, err := s.Server.Call(ctx, call)
	if !errors.Is(err, truth.ErrLicence) || !s.cfg.AcceptEULA {
		return res, err
	}
	args, err := json.Marshal(map[string]string{"eulaUrl": licence})
	if err != nil {
		return nil, err
	}
	if res, err := s.up.CallUpstream(ctx, call, acceptEULA, args); err != nil {
		return nil, err
	} else if res.IsError {
		return nil, failure.New(failure.ConsentRequired, failure.NotSent,
			"Work IQ did not take the acceptance of its licence: %s", mcpadapter.Text(res.JSON))
	}
	return s.Server.Call(ctx, call)
}
