package mcp

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
)

// maxAgain bounds how often one request is sent again with another credential: once
// because the first had expired, once because the second had too few scopes.
const maxAgain = 2

// Refusal is an answer that says that a request's credential will not do.
type Refusal struct {
	Status    int         // 401, or 403 with a challenge that says insufficient_scope
	Challenge string      // WWW-Authenticate, several joined by commas; "" when there is none
	Header    http.Header // what Authorize or Reauthorize gave for the request; nil when neither was asked
}

// sendAuthorized is send with the credentials of Endpoint.Authorize, and of
// Endpoint.Reauthorize when those are refused.
func (l *httpLink) sendAuthorized(ctx context.Context, method string, header http.Header, o *outgoing) (*http.Response, error) {
	var given http.Header
	if l.authorize != nil {
		var err error
		if given, err = l.authorize(ctx); err != nil {
			return nil, unauthorized(err)
		}
	}
	for again := 0; ; again++ {
		all, f := with(header, given)
		if f != nil {
			return nil, f
		}
		resp, err := l.send(ctx, method, all, o)
		if err != nil || l.reauthorize == nil || again == maxAgain {
			return resp, err
		}
		refused, is := refusal(resp)
		if !is {
			return resp, nil
		}
		refused.Header = given
		next, err := l.reauthorize(ctx, refused)
		if err == nil && next == nil {
			return resp, nil
		}
		discard(resp)
		if err != nil {
			return nil, unauthorized(err)
		}
		given = next
	}
}

func refusal(resp *http.Response) (Refusal, bool) {
	r := Refusal{Status: resp.StatusCode, Challenge: strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")}
	return r, r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden && parameter(r.Challenge, "error") == "insufficient_scope"
}

// with is header with what Endpoint.Authorize or Endpoint.Reauthorize adds to it.
func with(header, more http.Header) (http.Header, *failure.Failure) {
	header = maps.Clone(header)
	for name, values := range more {
		if f := checkHeader(name, values); f != nil {
			return nil, f
		}
		header[http.CanonicalHeaderKey(name)] = values
	}
	return header, nil
}

// unauthorized is why a request has no credential.
func unauthorized(err error) *failure.Failure {
	if f, ok := errors.AsType[*failure.Failure](err); ok {
		return f
	}
	return failure.New(failure.AuthFailure, failure.NotSent, "there is no credential for the server: %w", err)
}
