package server

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/credential"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// featureToken is announced to adapters whose server has something that tokens are for.
const featureToken = "token"

// accessToken is the variable in which a command server with an oauth table finds its
// token. It is the one that servers know which others start for them.
const accessToken = "MCP_ACCESS_TOKEN"

// staleBefore is how long before the end of its token a command server is stopped, or
// a tenth of the token's lifetime when that is less. The next start gets a new one:
// credential refreshes earlier than that.
const staleBefore = 30 * time.Second

// Tokens gets servers their tokens; *credential.Keeper does.
type Tokens interface {
	Token(ctx context.Context, s credential.Settings, need credential.Need) (credential.Token, error)
}

// TokenSettings say how a server gets its tokens, nil when it gets none: there is
// nothing that they are for, or the entry sends a credential of its own.
func TokenSettings(set *config.Server, res *config.Resolved) (*credential.Settings, error) {
	o, err := res.ReadOAuth()
	if err != nil {
		return nil, err
	}
	t := &credential.Settings{
		Server: set.Name, Resource: o.Resource, Issuer: o.Issuer,
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, ClientMetadataURL: o.ClientMetadataURL, Scopes: o.Scopes,
		Grant: credential.Grant(o.Grant), Command: o.TokenCommand,
		RedirectHost: o.RedirectHost, RedirectPort: o.RedirectPort, CAFile: res.CAFile,
	}
	if res.URL != "" {
		t.Resource = res.URL
	}
	if set.OAuth != nil {
		return t, t.Check()
	}
	// Others may be asked for tokens all the same, if nobody could read them on their way.
	if res.URL == "" || sendsCredential(set, res.URL) || t.Check() != nil {
		return nil, nil
	}
	return t, nil
}

// sendsCredential reports whether the entry itself says how its server knows the caller.
func sendsCredential(set *config.Server, address string) bool {
	for name := range set.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	u, err := url.Parse(address)
	return err != nil || u.User != nil
}

// Token hands out a token for a resource of the server's own entry.
func (h *hostService) Token(ctx context.Context, req *adapterpb.TokenRequest) (*adapterpb.TokenResponse, error) {
	if h.tokens == nil || h.settings == nil {
		return nil, status.Errorf(codes.PermissionDenied, "the entry has nothing that tokens are for: neither a url that wants them nor an oauth table")
	}
	if !belongs(req.GetResource(), h.settings.Resource) {
		return nil, status.Errorf(codes.PermissionDenied, "a token for %s: it is no part of %s, which the entry names", shown(req.GetResource()), shown(h.settings.Resource))
	}
	t, err := h.tokens.Token(ctx, *h.settings, credential.Need{Scopes: req.GetScopes(), Rejected: req.GetRejected(), Challenge: req.GetChallenge()})
	if err != nil {
		return nil, failure.ToStatus(err)
	}
	resp := &adapterpb.TokenResponse{Token: t.Value, Scheme: t.Scheme}
	if !t.Expiry.IsZero() {
		resp.ExpiresIn = durationpb.New(max(time.Until(t.Expiry), 0))
	}
	return resp, nil
}

// belongs reports whether a token for own may go to resource: the same origin, and the
// same path or one below it. A token whose entry names no resource may go anywhere.
func belongs(resource, own string) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.User != nil {
		return false
	}
	if own == "" {
		return true
	}
	o, err := url.Parse(own)
	if err != nil || !strings.EqualFold(r.Scheme, o.Scheme) || !strings.EqualFold(r.Hostname(), o.Hostname()) || portOf(r) != portOf(o) {
		return false
	}
	for _, part := range strings.Split(r.Path, "/") {
		if part == ".." {
			return false
		}
	}
	at, below := strings.TrimSuffix(o.Path, "/"), strings.TrimSuffix(r.Path, "/")
	return below == at || strings.HasPrefix(below, at+"/")
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "http"):
		return "80"
	}
	return "443"
}

// shown is an address without what may be secret in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "something that is no URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// startToken is the token that a command server is started with, and when it has to be
// started again; no token for others. The error is a *Failure.
func (s *Server) startToken(ctx context.Context, set *config.Server, t *credential.Settings) (token string, stale time.Time, err error) {
	if set.Command == "" || t == nil || s.env.Tokens == nil {
		return "", time.Time{}, nil
	}
	got, err := s.env.Tokens.Token(ctx, *t, credential.Need{})
	if err != nil {
		return "", time.Time{}, AsFailure(err)
	}
	if !got.Expiry.IsZero() {
		stale = got.Expiry.Add(-min(staleBefore, time.Until(got.Expiry)/10))
	}
	return got.Value, stale, nil
}

// tokenless reports whether settings were not resolved for want of a token: nothing is
// wrong with them.
func tokenless(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Class != failure.InvalidArguments
}

// retireStale stops a run whose upstream has a token that is about to expire, as soon
// as no call uses it; leaveRun says when. The next use starts it with a new one.
// Otherwise it says in what time to look again, if ever.
func (s *Server) retireStale(r *run) (left time.Duration, on bool) {
	s.mu.Lock()
	if r.stale.IsZero() || s.run != r {
		s.mu.Unlock()
		return 0, false
	}
	if left = time.Until(r.stale); left > 0 || r.calls > 0 {
		s.mu.Unlock()
		return left, left > 0
	}
	s.retireLocked(r, "its token was about to expire")
	s.onLocked(unused, nil)
	s.mu.Unlock()
	s.tell()
	s.env.Log.Info("stopping the adapter process: the token of its server is about to expire", "server", s.name)
	return 0, false
}
