// Package guard stands before the HTTP face: it lets a request through to a
// handler when the request was really meant for this server (Host, Origin), comes
// from somebody who may ask (a bearer token), and is within limits. What it lets
// through carries a Principal in its context and no credential.
//
// It knows nothing of MCP, of servers and of catalogs, reads no body, and never
// decides on a single tool: the Principal says what it may use, whoever lists and
// calls has to ask it. Whose a token is decide Authenticators, which live in
// packages of their own (tokenfile, oidc).
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Authenticator knows some of the tokens there are. Its method is called from many
// goroutines, and again while a long request lasts.
type Authenticator interface {
	// Authenticate returns whose token it is. The error is ErrUnknown for a token
	// that another authenticator may know, and a *Refusal for one that counts no
	// more or not here; any other means that it could not be decided now. No error
	// holds a part of the token.
	Authenticate(ctx context.Context, token string) (*Principal, error)
}

// Options say what is let through. The zero value is a server for this computer
// alone: no credentials, connections over loopback only.
type Options struct {
	// Auth are asked in this order for every bearer token. None: every request over
	// loopback is Anonymous's, and all others are refused.
	Auth []Authenticator

	// Hosts are further values of Host that are meant for this server, each as
	// "name" (on port 80 or 443) or "name:port", for instance the public name of a
	// proxy before it. A connection's own address is always one, and localhost,
	// 127.0.0.1 and [::1] for a connection over loopback, with the port.
	Hosts []string
	// Origins are the web pages that may use this server besides those of Hosts,
	// each as "https://name" or "https://name:port"; an extension's scheme will do
	// too ("chrome-extension://id"). They alone get CORS headers.
	Origins []string

	// Open are paths that need no credential, "/healthz" for instance. Host and
	// Origin count there too. What is served there must disclose nothing.
	Open []string

	// Resource is the URL that clients use for the endpoint, when it is not the
	// address of the connection: https://mcp.example.com/mcp behind a proxy.
	Resource string
	// Endpoint is the path of the endpoint here. Default "/mcp".
	Endpoint string
	// Issuers are the authorization servers whose tokens count. With one, clients
	// are told where to log in (RFC 9728).
	Issuers []string
	// Scopes are what a client has to ask an issuer for.
	Scopes []string

	Limits Limits

	// Denied is told of every request that is refused. May be nil; must not block.
	Denied func(Denial)
	// Log gets a line of level info for a refusal, of each reason one in 10 s, none of
	// them with a credential. Nil: no log.
	Log *slog.Logger
}

// Guard is the middleware. Make one with New; Wrap may be used more than once, all
// handlers share the limits.
type Guard struct {
	opt      Options
	limits   Limits
	sites    sites
	metadata metadata
	users    *meter
	failures *meter
	log      *quiet

	bodyTime, writeTime time.Duration
}

// New checks the options. An error names the option and what to write instead.
func New(opt Options) (*Guard, error) {
	limits, err := opt.Limits.withDefaults(len(opt.Auth) > 0)
	if err != nil {
		return nil, err
	}
	sites, err := newSites(opt.Hosts, opt.Origins)
	if err != nil {
		return nil, err
	}
	if opt.Endpoint == "" {
		opt.Endpoint = "/mcp"
	}
	metadata, err := newMetadata(opt)
	if err != nil {
		return nil, err
	}
	for _, path := range opt.Open {
		if !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("the open path %q does not begin with a slash", path)
		}
	}
	if slices.Contains(opt.Auth, nil) {
		return nil, errors.New("one of the authenticators is nil, which would refuse every token")
	}
	return &Guard{
		opt: opt, limits: limits, sites: sites, metadata: metadata,
		users:    newMeter(mostPrincipals, limits.PerSecond, limits.Burst, limits.InFlight),
		failures: newMeter(mostAddresses, limits.FailuresPerSecond, limits.FailuresBurst, 0),
		log:      newQuiet(opt.Log),
		bodyTime: bodyTime, writeTime: writeTime,
	}, nil
}

// Wrap returns next behind the guard.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
}

// serve is the order of things. Each step costs a stranger's request no more than
// the step before has allowed for.
func (g *Guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	sw, done := g.deadlines(w, r)
	defer done()

	if d := g.sites.check(r); d != nil {
		g.deny(sw, r, d)
		return
	}
	if g.sites.cors(sw, r) {
		return
	}
	if g.metadata.serves(r.URL.Path) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			sw.Header().Set("Allow", "GET, HEAD")
			g.deny(sw, r, &denial{status: http.StatusMethodNotAllowed, reason: BadMethod, message: "The metadata can only be read."})
			return
		}
		g.metadata.serve(sw, r)
		return
	}
	if slices.Contains(g.opt.Open, r.URL.Path) {
		r = withoutCredentials(r, r.Context())
		r.Body = http.MaxBytesReader(w, r.Body, openBody)
		next.ServeHTTP(sw, r)
		return
	}
	p, token, d := g.authenticate(r)
	if d != nil {
		g.deny(sw, r, d)
		return
	}
	leave, d := g.users.enter(p.ID, time.Now())
	if d != nil {
		d.principal = p.ID
		g.deny(sw, r, d)
		return
	}
	defer leave()
	if r.ContentLength > g.limits.Body {
		g.deny(sw, r, &denial{status: http.StatusRequestEntityTooLarge, reason: TooLarge, principal: p.ID,
			message: fmt.Sprintf("The request is larger than %d bytes, the most that is taken here.", g.limits.Body)})
		return
	}
	ctx, stop := g.recheck(NewContext(r.Context(), p), p, token)
	defer stop()
	inner := withoutCredentials(r, ctx)
	inner.Body = &countedBody{ReadCloser: http.MaxBytesReader(w, inner.Body, g.limits.Body), tooLarge: func() {
		g.count(r, &denial{status: http.StatusRequestEntityTooLarge, reason: TooLarge, principal: p.ID})
	}}
	next.ServeHTTP(sw, inner)
}

// withoutCredentials is the request as it may be passed on: what authenticated it
// here is nobody else's business, least of all that of a server upstream.
func withoutCredentials(r *http.Request, ctx context.Context) *http.Request {
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
		r.Header.Del(name)
	}
	return r
}

// recheckEvery is how long a stream may outlive its credential: one that has
// expired, was taken out of its file or was given other rights ends requests that are
// still running then.
const recheckEvery = 30 * time.Second

// ErrCredential is the cause of a request's context when its credential stopped
// counting while the request ran.
var ErrCredential = errors.New("the credential of this request has expired, was withdrawn or has other rights now")

// recheck asks again from time to time, as long as the request lasts, whether its
// token still is the principal's, with the same rights. That it cannot be decided
// changes nothing.
func (g *Guard) recheck(ctx context.Context, was *Principal, token string) (context.Context, context.CancelFunc) {
	if token == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex // orders the timer's function and the end
	ended := false
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(recheckEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		p, err := g.ask(ctx, token)
		_, refused := errors.AsType[*Refusal](err)
		if refused || errors.Is(err, ErrUnknown) || err == nil && (p.ID != was.ID || !SameRights(p, was)) {
			cancel(ErrCredential)
			return
		}
		timer.Reset(recheckEvery)
	})
	return ctx, func() {
		cancel(nil) // also ends a question to an issuer that the timer waits for
		mu.Lock()
		defer mu.Unlock()
		ended = true
		timer.Stop()
	}
}
