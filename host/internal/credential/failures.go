package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/sdk/failure"
)

// needsLogin is the failure that only a person can do something about.
func needsLogin(s Settings, why string) *failure.Failure {
	f := failure.New(failure.AuthFailure, failure.NotSent, "no credential for %s: %s; run: collet auth login %s", fetch.Show(s.Resource), why, s.Server)
	f.Origin, f.Target = failure.OriginHost, fetch.Show(s.Resource)
	return f
}

// invalid is a failure for settings that cannot work.
func invalid(s Settings, err error) *failure.Failure {
	return failure.New(failure.InvalidArguments, failure.NotSent, "the oauth settings of %s: %w", s.Server, err)
}

// unusable is a failure of the store.
func unusable(err error) *failure.Failure {
	f := failure.New(failure.AuthFailure, failure.NotSent, "%w", err)
	f.Origin = failure.OriginHost
	return f
}

// failed is why something that was asked of an authorization server did not come
// about. No call was sent for it.
func failed(ctx context.Context, s Settings, doing string, err error) *failure.Failure {
	if f, ok := errors.AsType[*failure.Failure](err); ok {
		return f
	}
	class := failure.AuthFailure
	f := failure.Classify(err)
	if r, ok := errors.AsType[*grant.Refused](err); ok {
		switch {
		case r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable:
			class = failure.RateLimited
		case !r.Final():
			class = failure.ServerError
		}
	} else if f.Class != failure.Unknown {
		class = f.Class
	}
	if ctx.Err() != nil {
		class = failure.Classify(ctx.Err()).Class
	}
	whom := s.Server
	if s.Resource != "" {
		whom += " (" + fetch.Show(s.Resource) + ")"
	}
	g := failure.New(class, failure.NotSent, "%s for %s: %w", doing, whom, err)
	g.Origin, g.Target = failure.OriginUpstream, f.Target
	if r, ok := errors.AsType[*grant.Refused](err); ok {
		g.UpstreamCode, g.RetryAfter = r.Status, r.RetryAfter
	}
	return g
}

// transient says whether an error of a token request may be gone the next time.
func transient(err error) bool {
	if r, ok := errors.AsType[*grant.Refused](err); ok {
		return !r.Final() && r.Status != http.StatusNotFound && r.Status != http.StatusGone
	}
	if _, ok := errors.AsType[*fetch.Inward](err); ok {
		return false
	}
	return true
}

func list(scopes []string) string { return fmt.Sprintf("%q", strings.Join(scopes, " ")) }
