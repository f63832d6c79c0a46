package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// tokens has requests to a server sent with tokens of the host, if it has any and the
// settings do not say how the server knows its caller.
func tokens(env *adapter.Env, at *mcp.Endpoint) {
	u, err := url.Parse(at.URL)
	if err != nil || u.User != nil || at.Header.Get("Authorization") != "" || !slices.Contains(env.HostFeatures, "token") {
		return
	}
	b := &bearer{env: env, resource: at.URL}
	at.Authorize, at.Reauthorize = b.authorize, b.reauthorize
}

// bearer asks the host for each request, and keeps no token.
type bearer struct {
	env      *adapter.Env
	resource string
	// without: the host had none, and the server has not asked for one since.
	without atomic.Bool
}

// authorize is the header of a request. A server may want no token, or none for some
// requests: who has none sends none.
func (b *bearer) authorize(ctx context.Context) (http.Header, error) {
	if b.without.Load() {
		return nil, nil
	}
	t, err := b.env.Token(ctx, b.resource)
	if isMissing(err) {
		b.without.Store(true)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return header(t), nil
}

// reauthorize is the header for a request that the server refused.
func (b *bearer) reauthorize(ctx context.Context, refused mcp.Refusal) (http.Header, error) {
	if refused.Challenge != "" && !strings.Contains(strings.ToLower(refused.Challenge), "bearer") {
		return nil, nil // it wants a credential of another kind
	}
	_, token, _ := strings.Cut(refused.Header.Get("Authorization"), " ")
	t, err := b.env.TokenAfter(ctx, adapter.Refusal{Token: token, Challenge: refused.Challenge}, b.resource)
	if err == nil {
		b.without.Store(false)
		return header(t), nil
	}
	if isMissing(err) {
		f := *failure.Classify(err)
		f.Message = fmt.Sprintf("the server wants credentials (%d %s): %s", refused.Status, http.StatusText(refused.Status), f.Message)
		f.UpstreamCode, f.Challenge = refused.Status, refused.Challenge
		return nil, &f
	}
	return nil, err
}

func header(t adapter.Token) http.Header {
	scheme := t.Scheme
	if scheme == "" {
		scheme = "Bearer"
	}
	return http.Header{"Authorization": {scheme + " " + t.Value}}
}

// isMissing reports whether the host has no token, which a person can change.
func isMissing(err error) bool {
	return err != nil && failure.Classify(err).Class == failure.AuthFailure
}
