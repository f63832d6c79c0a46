package mcpadapter

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// forwardable returns the methods that a server with these capabilities answers,
// in a fixed order, apart from those on tools.
func forwardable(capabilities json.RawMessage) []string {
	has := func(path string) bool {
		v := gjson.GetBytes(capabilities, path)
		return v.Exists() && v.Type != gjson.Null && v.Type != gjson.False
	}
	var methods []string
	if has("resources") {
		methods = append(methods, "resources/list", "resources/templates/list", "resources/read")
		if has("resources.subscribe") {
			methods = append(methods, "resources/subscribe", "resources/unsubscribe")
		}
	}
	if has("prompts") {
		methods = append(methods, "prompts/list", "prompts/get")
	}
	if has("completions") {
		methods = append(methods, "completion/complete")
	}
	return methods
}

// Methods implements adapter.Forwarder: none before the upstream is known.
func (s *server) Methods() []string {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	return slices.Clone(s.news.methods)
}

// Forward implements adapter.Forwarder.
func (s *server) Forward(ctx context.Context, req *adapter.Request) (json.RawMessage, error) {
	up, err := s.link.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(forwardable(up.Server().Capabilities), req.Method) {
		f := failure.New(failure.NotFound, failure.NotSent, "the server does not offer %s", req.Method)
		f.Origin = failure.OriginUpstream
		return nil, f
	}
	r, leave := s.running.enter(ctx, req)
	defer leave()
	raw, err := up.Request(ctx, req.Method, orNil(req.Params), mcp.RequestOptions{
		Meta:      declaring(up, nil, req.Params),
		OnRequest: r.asked, OnNotification: r.notified,
		OnProgress: func(p mcp.Progress) { req.Progress(p.Done, p.Total, p.Message) },
	})
	s.heard(up, err)
	if err != nil {
		return nil, s.explained(err)
	}
	s.resources.note(req.Method, req.Params)
	return raw, nil
}
