package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/collet-dev/collet/sdk/failure"
)

// resourceFilter is the member of the filter, and of its acknowledgement, that
// names resources (2026-07-28, Subscriptions).
const resourceFilter = "resourceSubscriptions"

// watched are the resources that a modern server is asked to tell of. The
// subscription there is ends with every change of them, and the next one has all.
type watched struct {
	mu      sync.Mutex
	uris    []string // in the order in which they were asked for
	version int      // of uris
	renew   func()   // ends the subscription under way; nil while there is none
	moved   chan struct{}

	// What the server said of the newest version it heard of.
	heard   int
	granted func(uri string) bool
	refused *failure.Failure
}

func newWatched() *watched { return &watched{moved: make(chan struct{})} }

// change adds or removes a resource and returns the version that has it so.
func (w *watched) change(uri string, on bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.uris, uri)
	switch {
	case on && i < 0:
		w.uris = append(w.uris, uri)
	case !on && i >= 0:
		w.uris = slices.Delete(w.uris, i, i+1)
	default:
		return w.version
	}
	w.version++
	if w.renew != nil {
		w.renew()
	}
	return w.version
}

// begin returns the resources for a subscription that renew ends.
func (w *watched) begin(renew func()) (uris []string, version int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renew = renew
	return slices.Clone(w.uris), w.version
}

// end calls over unless there is something newer to ask for than that version.
func (w *watched) end(version int, over func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version != version {
		return false
	}
	w.renew = nil
	over()
	return true
}

// answered takes what the server said of a version: what it granted, or why not.
func (w *watched) answered(version int, granted func(uri string) bool, refused *failure.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.granted, w.refused = version, granted, refused
	close(w.moved)
	w.moved = make(chan struct{})
}

// await waits until the server has said whether it tells of uri.
func (w *watched) await(ctx context.Context, c *Client, uri string, version int) *failure.Failure {
	const method = "resources/subscribe"
	for {
		w.mu.Lock()
		heard, granted, refused, moved := w.heard, w.granted, w.refused, w.moved
		w.mu.Unlock()
		switch {
		case heard < version:
		case refused != nil:
			return refused
		case granted(uri):
			return nil
		default:
			f := failure.New(failure.NotFound, failure.Answered, "the server does not tell of changes of %s", quote([]byte(uri)))
			f.Origin = failure.OriginUpstream
			return f
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return contextFailure(ctx, failure.DeliveryUnknown, method)
		case <-c.done:
			return endedFailure(c.err, failure.DeliveryUnknown)
		}
	}
}

// grantedResources reads what an acknowledgement says of resources: all of them
// when it says nothing at all.
func grantedResources(grants []byte) func(uri string) bool {
	if grants == nil {
		return func(string) bool { return true }
	}
	var uris []string
	if list := member(grants, resourceFilter); len(list) > 0 && list[0] == '[' {
		eachElement(list, 0, 0, func(v []byte) {
			if uri, ok := text(v); ok {
				uris = append(uris, uri)
			}
		})
	}
	return func(uri string) bool { return slices.Contains(uris, uri) }
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// watchResource serves resources/subscribe and resources/unsubscribe, which servers
// of 2026-07-28 do not know, by what took their place.
func (c *Client) watchResource(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *failure.Failure) {
	uri, ok := text(member(trim(params), "uri"))
	if !ok {
		return nil, badArguments("the parameters of %s have no uri", method)
	}
	if member(c.server.Load().Capabilities, "resources") == nil {
		f := failure.New(failure.NotFound, failure.NotSent, "the server has no resources")
		f.Origin = failure.OriginUpstream
		return nil, f
	}
	on := method == "resources/subscribe"
	version := c.watched.change(uri, on)
	if !on {
		return json.RawMessage("{}"), nil
	}
	c.subscribe()
	if f := c.watched.await(ctx, c, uri, version); f != nil {
		c.watched.change(uri, false)
		return nil, f
	}
	return json.RawMessage("{}"), nil
}

// note takes note of a subscription that a server of the initialize era accepted.
func (c *Client) note(method string, params json.RawMessage) {
	on := method == "resources/subscribe"
	if !on && method != "resources/unsubscribe" {
		return
	}
	if uri, ok := text(member(trim(params), "uri")); ok {
		c.watched.change(uri, on)
	}
}

// resubscribe asks a server of the initialize era in a new session for what it
// was asked for in the one before.
func (c *Client) resubscribe() {
	if c.server.Load().Modern {
		return // listen does
	}
	c.watched.mu.Lock()
	uris := slices.Clone(c.watched.uris)
	c.watched.mu.Unlock()
	for _, uri := range uris {
		params := json.RawMessage(`{"uri":` + string(appendString(nil, uri)) + `}`)
		ctx, cancel := context.WithTimeout(c.base, renewTimeout)
		_, f := c.request(ctx, "resources/subscribe", params, RequestOptions{})
		cancel()
		if f != nil {
			c.opt.Log.Warn("the server does not take up a subscription in its new session", "uri", uri, "error", f)
		}
		c.session.tell("notifications/resources/updated", params)
	}
}
