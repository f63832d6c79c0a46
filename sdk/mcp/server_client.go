package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// maxWatched bounds the resources that one client watches, or one subscription,
	// and maxURI the bytes of each; clients send longer ones nowhere (RFC 9110
	// section 4.1 wants 8,000 to work).
	maxWatched = 1000
	maxURI     = 8 << 10
	// maxIntroduction bounds what a client says of itself, which is kept as long as it
	// stays: clientInfo may hold icons.
	maxIntroduction = 256 << 10
)

// client is a client of the initialize era, for as long as it stays.
type client struct {
	caller *Caller
	now    atomic.Pointer[Caller] // by what its credential allowed with its last request
	asks   *session               // what it is asked

	mu      sync.Mutex
	level   string
	watched map[string]func() // resource -> release
	gone    bool
}

// newClient reads an initialize request. A version that is not one of ours is
// answered with our latest, which the client may refuse.
func (d *demand) newClient() (*client, error) {
	version, ok := text(member(d.params, "protocolVersion"))
	if !ok {
		return nil, &WireError{Code: codeInvalidParams, Message: "Invalid params: protocolVersion is missing"}
	}
	if !slices.Contains(legacyVersions, version) {
		version = legacyVersions[0]
	}
	c := &client{caller: &Caller{Version: version}, level: "info", watched: map[string]func(){}}
	info, capabilities := member(d.params, "clientInfo"), member(d.params, "capabilities")
	if len(info)+len(capabilities) > maxIntroduction {
		return nil, &WireError{Code: codeInvalidParams, Message: fmt.Sprintf("Invalid params: clientInfo and capabilities are larger than %d bytes", maxIntroduction)}
	}
	// Copies, so that the message they came in is not kept.
	if isObject(info) {
		c.caller.Info = bytes.Clone(info)
	}
	if isObject(capabilities) {
		c.caller.Capabilities = bytes.Clone(capabilities)
	}
	c.now.Store(c.caller)
	return c, nil
}

// as is the client as whoever has sent its request at hand, and from now on as whom
// it is notified.
func (c *client) as(principal any) *Caller {
	now := c.caller.as(principal)
	c.now.Store(now)
	return now
}

// as is the same client by what its credential allows now, which may not be what it
// allowed when the client came.
func (c *Caller) as(principal any) *Caller {
	now := *c
	now.Principal = principal
	return &now
}

func (c *client) logLevel() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

// setLevel is logging/setLevel.
func (c *client) setLevel(params []byte) (json.RawMessage, error) {
	level, _ := text(member(params, "level"))
	if severity(level) < 0 {
		return nil, &WireError{Code: codeInvalidParams, Message: "Invalid params: level is no log level"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level = level
	return json.RawMessage("{}"), nil
}

// watch is resources/subscribe.
func (s *Server) watch(ctx context.Context, caller *Caller, c *client, params []byte) (json.RawMessage, error) {
	if s.watcher == nil {
		return nil, ErrMethodNotFound
	}
	uri, ok := text(member(params, "uri"))
	switch {
	case !ok:
		return nil, &WireError{Code: codeInvalidParams, Message: "Invalid params: uri is missing"}
	case len(uri) > maxURI:
		return nil, errLongURI
	}
	c.mu.Lock()
	_, known := c.watched[uri]
	full := len(c.watched) >= maxWatched
	c.mu.Unlock()
	switch {
	case known:
		return json.RawMessage("{}"), nil
	case full:
		return nil, &WireError{Code: codeInvalidParams, Message: "Too many subscriptions"}
	}
	release, err := s.watcher.Watch(ctx, caller, uri)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	_, known = c.watched[uri]
	if !known && !c.gone {
		c.watched[uri] = release
		release = nil
	}
	c.mu.Unlock()
	if release != nil { // it was asked for twice at once, or the client has left
		release()
	}
	return json.RawMessage("{}"), nil
}

var errLongURI = &WireError{Code: codeInvalidParams, Message: fmt.Sprintf("Invalid params: uri is longer than %d bytes", maxURI)}

// unwatch is resources/unsubscribe.
func (s *Server) unwatch(c *client, params []byte) (json.RawMessage, error) {
	if s.watcher == nil {
		return nil, ErrMethodNotFound
	}
	uri, _ := text(member(params, "uri"))
	c.mu.Lock()
	release := c.watched[uri]
	delete(c.watched, uri)
	c.mu.Unlock()
	if release != nil {
		release()
	}
	return json.RawMessage("{}"), nil
}

// watches says whether the client wants to know of a resource.
func (c *client) watches(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched[uri] != nil
}

// unheard ends the questions to a client that says nothing any more.
func (c *client) unheard() {
	c.asks.end(failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "the client is gone"))
}

// leave ends all that belongs to the client.
func (c *client) leave() {
	c.unheard()
	c.mu.Lock()
	watched := c.watched
	c.watched, c.gone = nil, true
	c.mu.Unlock()
	for _, release := range watched {
		release()
	}
}

// askable are the requests that a client declares a capability for.
var askable = map[string]string{
	"sampling/createMessage": "sampling",
	"elicitation/create":     "elicitation",
	"roots/list":             "roots",
}

// mayAsk says whether a client can be asked anything.
func (c *client) mayAsk() bool {
	for _, capability := range askable {
		if member(c.caller.Capabilities, capability) != nil {
			return true
		}
	}
	return false
}

// begin files a question to the client, whose message is not sent yet.
func (c *client) begin(ctx context.Context, method string, params json.RawMessage) (request, *call, *failure.Failure) {
	if f := checkObject("the parameters of "+method, params); f != nil {
		return request{}, nil, f
	}
	if capability := askable[method]; capability == "" || member(c.caller.Capabilities, capability) == nil {
		return request{}, nil, failure.New(failure.InvalidArguments, failure.NotSent, "the client did not declare that it answers %s", method)
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	r := request{method: method, size: len(params), write: func(b []byte, _ uint64) []byte {
		return append(b, oneLine(params)...)
	}}
	call, f := c.asks.begin(ctx, r, nil)
	if f != nil {
		return r, nil, asked(f, method)
	}
	return r, call, nil
}

// finish waits for the client's answer.
func (c *client) finish(ctx context.Context, r request, call *call) (json.RawMessage, error) {
	result, f := c.asks.await(ctx, r, call)
	if f != nil {
		return nil, asked(f, r.method)
	}
	return result, nil
}

// asked words a failure of the lower layer, for which a peer is a server.
func asked(f *failure.Failure, method string) *failure.Failure {
	g := *f
	g.Origin = failure.OriginUnspecified
	switch g.Class {
	case failure.Timeout:
		g.Message = "the client did not answer " + method + " in time"
	case failure.InvalidResult:
		g.Message = "the client's answer to " + method + " is invalid"
	}
	return &g
}

// heard takes a client's answer to what it was asked.
func (c *client) heard(e envelope) {
	if e.method == nil && e.id != nil {
		c.asks.receive(e, nil)
	}
}
