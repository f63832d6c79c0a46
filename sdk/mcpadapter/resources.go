package mcpadapter

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// subscriptions are the resources that a host has subscribed to. They outlive the
// connection to the upstream.
type subscriptions struct {
	mu   sync.Mutex
	uris []string // in the order in which they were asked for
}

// note takes note of a request that succeeded, if it was about subscriptions.
func (s *subscriptions) note(method string, params json.RawMessage) {
	on := method == "resources/subscribe"
	if !on && method != "resources/unsubscribe" {
		return
	}
	uri := gjson.GetBytes(params, "uri").String()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.uris, uri)
	switch {
	case on && i < 0:
		s.uris = append(s.uris, uri)
	case !on && i >= 0:
		s.uris = slices.Delete(s.uris, i, i+1)
	}
}

func (s *subscriptions) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.uris)
}

// resubscribe asks a new upstream for what the one before was asked for. What
// that would have told of meanwhile counts as changed.
func (s *server) resubscribe(up Upstream, uris []string) {
	for _, uri := range uris {
		params := json.RawMessage(`{"uri":` + string(quoted(uri)) + `}`)
		ctx, cancel := context.WithTimeout(s.link.base, relistTimeout)
		_, err := up.Request(ctx, "resources/subscribe", params, mcp.RequestOptions{})
		cancel()
		if err != nil {
			s.env.Log.Warn("the upstream does not take up a subscription after it was connected again", "uri", uri, "error", err)
		}
		s.news.forwarded("notifications/resources/updated", params)
	}
}
