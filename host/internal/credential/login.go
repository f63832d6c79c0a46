package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/challenge"
	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/fetch"
	"github.com/collet-dev/collet/host/internal/credential/flow"
	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/host/internal/credential/register"
	"github.com/collet-dev/collet/host/internal/credential/store"
)

// Redirect is where a browser should be sent back to.
type Redirect struct {
	Host  string // "127.0.0.1" or "localhost"
	Port  int    // 0 is any that is free
	Path  string
	Fixed bool // another port will not do
}

// DeviceCode is what a person types in on another device. All of it can be printed
// but for control characters in URLs, of which there are none.
type DeviceCode struct {
	UserCode, URL string
	URLComplete   string // with the code in it; "" when there is none
	Expiry        time.Time
}

// Browser is the person who logs in, and whatever stands between.
type Browser interface {
	// Listen prepares for the answer of a browser before one is opened, and returns
	// the redirect URI, which is http on this machine.
	Listen(ctx context.Context, want Redirect) (uri string, err error)
	// Authorize sends the person to an URL, https or http on this machine, as one
	// argument to whatever opens it, and returns the URL that the browser was sent
	// back to, or its query.
	Authorize(ctx context.Context, url string) (callback string, err error)
	// ShowCode shows a code and does not wait.
	ShowCode(ctx context.Context, code DeviceCode) error
}

// callbackPath is the path of redirect URIs.
const callbackPath = "/callback"

// Login logs a person in, or for grants that need none gets a token anew, and
// returns what came of it. ctx bounds all of it. need may be empty: then the server
// is asked what it wants. b may be nil for grants that need no person. Two logins at
// once end with the credential of the one that ends last. Errors are of type
// *failure.Failure.
func (k *Keeper) Login(ctx context.Context, s Settings, need Need, b Browser) (Status, error) {
	if err := s.Check(); err != nil {
		return Status{}, invalid(s, err)
	}
	k.tell(s.ClientSecret)
	if g := s.grant(); g == Command || g == ClientCredentials {
		k.forgetIssued(s)
		if _, err := k.issue(ctx, s, need); err != nil {
			return Status{}, err
		}
		return k.Status(ctx, s)
	}
	l, err := k.prepare(ctx, s, need)
	if err != nil {
		return Status{}, failed(ctx, s, "log in", err)
	}
	var tokens grant.Tokens
	if s.grant() == Device {
		tokens, err = l.device(ctx, b)
	} else {
		tokens, err = l.browse(ctx, b)
	}
	if err != nil {
		return Status{}, failed(ctx, s, "log in", err)
	}
	if err := k.enter(ctx, l, tokens); err != nil {
		return Status{}, unusable(err)
	}
	return k.Status(ctx, s)
}

// login is one login under way.
type login struct {
	k        *Keeper
	s        Settings
	client   *fetch.Client
	resource discovery.Resource
	server   discovery.Server
	scopes   []string
	known    *store.Registration
	id       store.Client
	asked    time.Time // for the tokens
}

// prepare finds out where a person has to log in, and for what.
func (k *Keeper) prepare(ctx context.Context, s Settings, need Need) (*login, error) {
	client, err := k.client(s)
	if err != nil {
		return nil, err
	}
	contents, err := k.store.Read() // a store that cannot be read is better known before
	if err != nil {
		return nil, unusable(err)
	}
	l := &login{k: k, s: s, client: client}
	header, status := need.Challenge, http.StatusUnauthorized
	if header == "" && s.Issuer == "" {
		header, status = knock(ctx, client, s.Resource)
	}
	asked := challenge.Parse(header)
	if l.resource, err = discovery.FindResource(ctx, client, s.Resource, asked.ResourceMetadata); err != nil {
		return nil, err
	}
	if l.server, err = discovery.FindServer(ctx, client, l.resource, s.Issuer); err != nil {
		return nil, err
	}
	if l.server.Guessed && status/100 == 2 {
		return nil, fmt.Errorf("the server asks for no credential (it answered with status %d), and nothing says who would issue one: there is nothing to log in to", status)
	}
	l.known = contents.Registration(l.server.Issuer)
	if l.known != nil {
		k.tell(l.known.Secret)
	}
	var earlier []string
	if old := contents.Credential(s.endpoint(), l.server.Issuer); old != nil {
		earlier = union(old.Scopes, old.Wanted)
	}
	l.scopes = wanted(s.Scopes, asked.Scopes, l.resource.Scopes, union(earlier, need.Scopes))
	if s.grant() != ClientCredentials && slices.Contains(l.server.Scopes, "offline_access") {
		l.scopes = union(l.scopes, []string{"offline_access"}) // for a refresh token
	}
	return l, nil
}

// wanted are the scopes of an authorization: what the user configured, else what the
// server asks for, else all it supports (MCP 2025-11-25, Scope Selection Strategy);
// and whatever it asks for and was granted before, so that a step up loses nothing.
func wanted(configured, asked, supported, earlier []string) []string {
	asked = discovery.Words(asked)
	scopes := configured
	if len(scopes) == 0 {
		scopes = asked
	}
	if len(scopes) == 0 {
		scopes = supported
	}
	return union(union(earlier, scopes), asked)
}

// knockTimeout bounds a request whose answer would only be good to have.
const knockTimeout = 10 * time.Second

// knock asks a server for nothing in particular, and returns the status of its
// answer, 0 when there is none, and the challenge that it refuses with.
func knock(ctx context.Context, client *fetch.Client, resource string) (header string, status int) {
	ctx, cancel := context.WithTimeout(ctx, knockTimeout)
	defer cancel()
	a, err := client.Post(ctx, resource, http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}, `{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	if err != nil {
		return "", 0
	}
	if a.Status == http.StatusUnauthorized { // some send one with what they serve, too
		header = strings.Join(a.Header.Values("WWW-Authenticate"), ", ")
	}
	return header, a.Status
}

// browse is the authorization code grant (RFC 6749 section 4.1).
func (l *login) browse(ctx context.Context, b Browser) (grant.Tokens, error) {
	if b == nil {
		return grant.Tokens{}, errors.New("there is no browser")
	}
	uri, err := b.Listen(ctx, l.redirect())
	if err != nil {
		return grant.Tokens{}, err
	}
	if u, err := fetch.Endpoint(uri); err != nil || u.Scheme != "http" {
		return grant.Tokens{}, fmt.Errorf("the redirect URI %q is not http on this machine", uri)
	}
	if err := l.identify(ctx, uri); err != nil {
		return grant.Tokens{}, err
	}
	f, err := flow.Begin(l.server, l.id.ID, uri, l.scopes, l.resource.ID)
	if err != nil {
		return grant.Tokens{}, err
	}
	callback, err := b.Authorize(ctx, f.URL)
	if err != nil {
		return grant.Tokens{}, err
	}
	code, err := f.Code(callback)
	if d, denied := errors.AsType[*flow.Denied](err); denied && d.Code == "invalid_scope" {
		return grant.Tokens{}, fmt.Errorf("%w; collet asked for %s; run collet auth logout %s to forget the scopes of earlier logins, then log in again", err, list(l.scopes), l.s.Server)
	}
	if err != nil {
		return grant.Tokens{}, err
	}
	l.k.tell(code)
	l.asked = l.k.opt.Now()
	tokens, err := grant.Code(ctx, l.client, l.endpoint(l.server.TokenEndpoint), code, uri, f.Verifier, l.resource.ID)
	if err != nil {
		return tokens, fmt.Errorf("exchange the code: %w", l.disown(ctx, err))
	}
	return tokens, nil
}

// redirect is where the browser should come back to: to the port of before, for
// which the client is registered.
func (l *login) redirect() Redirect {
	r := Redirect{Host: l.s.RedirectHost, Port: l.s.RedirectPort, Path: callbackPath, Fixed: l.s.RedirectPort != 0}
	if r.Host == "" {
		r.Host = "127.0.0.1"
	}
	if !r.Fixed && l.s.ClientID == "" && l.known != nil && !l.known.Refused {
		if u, err := url.Parse(l.known.RedirectURI); err == nil && u.Hostname() == r.Host {
			r.Port, _ = strconv.Atoi(u.Port())
		}
	}
	return r
}

// device is the grant for a person on another device (RFC 8628).
func (l *login) device(ctx context.Context, b Browser) (grant.Tokens, error) {
	switch {
	case b == nil:
		return grant.Tokens{}, errors.New("there is nobody to show the code to")
	case l.server.DeviceEndpoint == "":
		return grant.Tokens{}, fmt.Errorf("the authorization server %s offers no logging in on another device (device_authorization_endpoint)", fetch.Show(l.server.Issuer))
	}
	if err := l.identify(ctx, "http://127.0.0.1"+callbackPath); err != nil {
		return grant.Tokens{}, err
	}
	d, err := grant.StartDevice(ctx, l.client, l.endpoint(l.server.DeviceEndpoint), l.scopes, l.resource.ID)
	if err != nil {
		return grant.Tokens{}, l.disown(ctx, err)
	}
	err = b.ShowCode(ctx, DeviceCode{UserCode: d.UserCode, URL: d.URL, URLComplete: d.Complete, Expiry: l.k.opt.Now().Add(d.Lifetime)})
	if err != nil {
		return grant.Tokens{}, err
	}
	tokens, err := d.Wait(ctx, l.client, l.endpoint(l.server.TokenEndpoint), l.resource.ID, sleep)
	l.asked = l.k.opt.Now() // the last of many times
	return tokens, err
}

// identify finds the client, and stores it at once when it was registered for this:
// whoever comes next uses it, too.
func (l *login) identify(ctx context.Context, redirectURI string) error {
	id := register.Identity{ClientID: l.s.ClientID, Secret: l.s.ClientSecret, DocumentURL: l.s.ClientMetadataURL, Version: l.k.opt.Version}
	c, registered, err := register.Choose(ctx, l.client, l.server, id, redirectURI, l.known, l.k.opt.Now())
	if err != nil {
		return err
	}
	l.id = c
	l.k.tell(c.Secret)
	if registered == nil {
		return nil
	}
	l.known = registered
	err = l.k.store.Change(ctx, func(c *store.Contents) error {
		c.Register(*registered)
		return nil
	})
	if err != nil {
		return unusable(err)
	}
	return nil
}

func (l *login) endpoint(at string) grant.Endpoint {
	e := grant.Endpoint{URL: at, ClientID: l.id.ID, Secret: l.id.Secret, Method: l.id.Method}
	if l.id.Source == store.Configured {
		e.Secret = l.s.ClientSecret
	}
	return e
}

// disown remembers a registration that its server does not know any more, so that
// the next login makes a new one.
func (l *login) disown(ctx context.Context, cause error) error {
	r, said := errors.AsType[*grant.Refused](cause)
	if !said || r.Code != "invalid_client" && r.Code != "unauthorized_client" || l.id.Source != store.Dynamic {
		return cause
	}
	err := l.k.store.Change(ctx, func(c *store.Contents) error {
		if reg := c.Registration(l.server.Issuer); reg != nil && reg.ID == l.id.ID {
			reg.Refused = true
		}
		return nil
	})
	return errors.Join(cause, err)
}

// enter stores what a login has come to.
func (k *Keeper) enter(ctx context.Context, l *login, t grant.Tokens) error {
	e := k.with(store.Credential{
		Endpoint: l.s.endpoint(), Resource: l.resource.ID, Issuer: l.server.Issuer,
		TokenEndpoint: l.server.TokenEndpoint, RevocationEndpoint: l.server.RevocationEndpoint,
		Client: l.id, Scopes: l.scopes,
	}, t, l.asked)
	err := k.store.Change(context.WithoutCancel(ctx), func(c *store.Contents) error {
		c.Put(e)
		return nil
	})
	if err != nil {
		return err
	}
	k.mu.Lock()
	delete(k.unsaved, flightKey(e))
	k.mu.Unlock()
	return nil
}
