package recording

import (
	"context"
	"net/url"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// Host is service Host for the adapter of a client that Client returned: what the
// adapter asks in the middle of a call is written with the call, and that it asked for a
// token is written, the token never. With another client it is inner itself.
func Host(of adapterpb.AdapterClient, inner adapterpb.HostServer) adapterpb.HostServer {
	c, ok := of.(*client)
	if !ok {
		return inner
	}
	return &host{inner, c}
}

type host struct {
	adapterpb.HostServer
	c *client
}

func (h *host) Ask(ctx context.Context, req *adapterpb.AskRequest) (*adapterpb.AskResponse, error) {
	answered := h.c.asked(req)
	resp, err := h.HostServer.Ask(ctx, req)
	answered(resp.GetResult(), err)
	return resp, err
}

func (h *host) Token(ctx context.Context, req *adapterpb.TokenRequest) (*adapterpb.TokenResponse, error) {
	began := time.Now()
	resp, err := h.HostServer.Token(ctx, req)
	h.c.add(began, Entry{Kind: Token, Resource: plainURL(req.GetResource()), Scopes: req.GetScopes(), Rejected: req.GetRejected() != ""}, err)
	return resp, err
}

// plainURL is a URL without the parts in which there can be secrets.
func plainURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// asked notes a question of a call that runs, and returns what notes the answer. A
// question without a call is none.
func (c *client) asked(req *adapterpb.AskRequest) (answered func(result []byte, err error)) {
	c.mu.Lock()
	x := c.running[req.GetCallId()]
	c.mu.Unlock()
	if x == nil {
		return func([]byte, error) {}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	ask := &Ask{After: len(x.e.Events), Method: req.GetMethod(), Params: req.GetParams()}
	x.asks = append(x.asks, ask)
	return func(result []byte, err error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		ask.Result, ask.Failure = result, FailureOf(failureOf(err))
	}
}

// begin makes an exchange known by the id of its call, until its end.
func (c *client) begin(id string, e Entry) *exchange {
	x := &exchange{c: c, id: id, began: time.Now(), e: e}
	if id != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.running == nil {
			c.running = map[string]*exchange{}
		}
		c.running[id] = x
	}
	return x
}

// whole is the entry of an exchange that has ended, of which nothing is changed any
// more.
func (x *exchange) whole() Entry {
	x.c.mu.Lock()
	if x.c.running[x.id] == x {
		delete(x.c.running, x.id)
	}
	x.c.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.asks {
		x.e.Asks = append(x.e.Asks, *a) // a question that the end of the call has ended has no answer
	}
	return x.e
}
