package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/host/internal/credential/store"
	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// coolFirst is how long nobody asks again after an authorization server did not
	// answer; it doubles up to coolMost.
	coolFirst = time.Second
	coolMost  = 15 * time.Second
)

// attempts are the pauses before the first and each further request of a flight.
// Servers that rotate refresh tokens take the same one again for a short while, if
// at all, so that a lost answer is asked for again at once.
var attempts = []time.Duration{0, 500 * time.Millisecond, 2 * time.Second}

// flight is one refresh that everybody waits for who wants it.
type flight struct {
	done chan struct{}
	got  store.Credential // once done is closed
	err  error
}

// cooling is a failure that counts for a while without asking again.
type cooling struct {
	of    string // the token that was to be replaced; another one's failure is another
	until time.Time
	pause time.Duration
	err   error
}

func flightKey(e store.Credential) string { return e.Endpoint + " " + e.Issuer }

// refresh returns the credential after seen: another process's, or one of a new
// refresh. The refresh goes on when ctx is done.
func (k *Keeper) refresh(ctx context.Context, s Settings, seen store.Credential) (store.Credential, error) {
	return k.share(ctx, s, flightKey(seen), seen.Access, func(ctx context.Context) (store.Credential, error) {
		return k.renew(ctx, s, seen)
	})
}

// share has run executed once for all who want the same at a time, unless it failed
// a moment ago.
func (k *Keeper) share(ctx context.Context, s Settings, key, of string, run func(context.Context) (store.Credential, error)) (store.Credential, error) {
	k.mu.Lock()
	f := k.flights[key]
	switch cool, is := k.cooling[key]; {
	case k.closed:
		k.mu.Unlock()
		return store.Credential{}, failure.New(failure.Canceled, failure.NotSent, "the host is closing")
	case f != nil:
	case is && cool.of == of && k.opt.Now().Before(cool.until):
		k.mu.Unlock()
		return store.Credential{}, cool.err
	default:
		f = &flight{done: make(chan struct{})}
		k.flights[key] = f
		k.work.Go(func() { k.fly(key, of, f, run) })
	}
	k.mu.Unlock()
	select {
	case <-f.done:
		return f.got, f.err
	case <-ctx.Done():
		return store.Credential{}, failed(ctx, s, "wait for a token", ctx.Err())
	}
}

func (k *Keeper) fly(key, of string, f *flight, run func(context.Context) (store.Credential, error)) {
	ctx, cancel := context.WithTimeout(k.base, flightTimeout)
	defer cancel()
	f.got, f.err = run(ctx)
	k.mu.Lock()
	delete(k.flights, key)
	if f.err == nil {
		delete(k.cooling, key)
	} else {
		pause := coolFirst
		// Whoever has made room for a file calls again at once.
		if last := k.cooling[key]; last.of == of && !isUnkept(f.err) {
			pause = min(max(2*last.pause, coolFirst), coolMost)
		}
		k.cooling[key] = cooling{of: of, until: k.opt.Now().Add(pause), pause: pause, err: f.err}
	}
	k.mu.Unlock()
	close(f.done)
}

// renew is one refresh, while no other process does one of the same credential.
func (k *Keeper) renew(ctx context.Context, s Settings, seen store.Credential) (store.Credential, error) {
	client, err := k.client(s)
	if err != nil {
		return seen, invalid(s, err)
	}
	// A file of its own for each credential, since a refresh lasts as long as its
	// authorization server likes.
	unlock, err := lockfile.Lock(ctx, k.beside(seen, ".lock"))
	switch {
	case err != nil && ctx.Err() != nil:
		return seen, failed(ctx, s, "wait for the refresh of another process", err)
	case err != nil:
		return seen, cannotKeep(s, err)
	}
	defer unlock()
	e, err := k.credential(s)
	switch now := k.opt.Now(); {
	case err != nil:
		return seen, err
	case e == nil || e.Issuer != seen.Issuer:
		return seen, needsLogin(s, "it was logged out meanwhile")
	case e.Access != seen.Access && (!expired(*e, now) || fresh(*e, now)):
		return *e, nil // another process was faster
	case e.Refused != "":
		return seen, needsLogin(s, e.Refused)
	case e.Refresh == "":
		return seen, needsLogin(s, "it cannot be refreshed")
	}
	// Once the server has been asked the old refresh token may be worth nothing: what it
	// answers must not fail to be written.
	room, err := k.store.Reserve(ctx, k.beside(seen, ".next"))
	if err != nil {
		return seen, cannotKeep(s, err)
	}
	defer room.Release()
	at := grant.Endpoint{URL: e.TokenEndpoint, ClientID: e.Client.ID, Secret: e.Client.Secret, Method: e.Client.Method}
	if e.Client.Source == store.Configured {
		at.Secret = s.ClientSecret
	}
	ask := func(ctx context.Context) (grant.Tokens, error) {
		return grant.Refresh(ctx, client, at, e.Refresh, e.Resource)
	}
	tokens, asked, err := k.persist(ctx, ask)
	if r, ok := errors.AsType[*grant.Refused](err); ok && (r.Status == http.StatusNotFound || r.Status == http.StatusGone) {
		// Nobody is there any more: it may have moved since the login.
		if server, lost := discovery.Metadata(ctx, client, e.Issuer); lost == nil && server.TokenEndpoint != at.URL {
			at.URL, e.TokenEndpoint, e.RevocationEndpoint = server.TokenEndpoint, server.TokenEndpoint, server.RevocationEndpoint
			tokens, asked, err = k.persist(ctx, ask)
		}
	}
	if err != nil {
		return seen, k.refused(ctx, s, *e, err)
	}
	return k.keep(ctx, s, *e, tokens, asked, room)
}

// persist asks for tokens until the answer is one that asking again does not change,
// and says when it asked for it: their lifetime has begun by then at the earliest.
func (k *Keeper) persist(ctx context.Context, ask func(context.Context) (grant.Tokens, error)) (_ grant.Tokens, asked time.Time, err error) {
	for _, pause := range attempts {
		if r, ok := errors.AsType[*grant.Refused](err); ok && r.RetryAfter > pause {
			if r.RetryAfter > coolMost {
				break
			}
			pause = r.RetryAfter
		}
		if sleep(ctx, pause) != nil {
			break
		}
		var t grant.Tokens
		asked = k.opt.Now()
		if t, err = ask(ctx); err == nil || !transient(err) {
			return t, asked, err
		}
		k.opt.Log.Info("an authorization server did not answer a request for a token", "error", err)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return grant.Tokens{}, asked, err
}

// refused is the failure of a refresh that did not come about. The credential stays
// whatever it was; only invalid_grant, the authorization server's word that it will
// never refresh it, is remembered.
func (k *Keeper) refused(ctx context.Context, s Settings, e store.Credential, cause error) error {
	r, said := errors.AsType[*grant.Refused](cause)
	if !said || !r.Final() {
		return failed(ctx, s, "refresh the token", cause)
	}
	if r.Code != "invalid_grant" && r.Code != "invalid_client" && r.Code != "unauthorized_client" {
		return failed(ctx, s, "refresh the token", cause)
	}
	why := "the authorization server will not refresh it any more"
	if r.Code != "invalid_grant" {
		why = "the authorization server does not accept the client that it was issued to"
	}
	why += fmt.Sprintf(" (%s)", r.Code)
	if r.Description != "" {
		said := blot(r.Description, e.Access, e.Refresh, e.Client.Secret, s.ClientSecret)
		why += fmt.Sprintf(": %q", said[:min(len(said), 200)])
	}
	newer := false
	err := k.store.Change(ctx, func(c *store.Contents) error {
		now := c.Credential(e.Endpoint, e.Issuer)
		if now == nil || now.Refresh != e.Refresh {
			newer = now != nil
			return nil // somebody logged in meanwhile: what was refused is not what is stored
		}
		if r.Code == "invalid_grant" {
			now.Refused = why
		} else if reg := c.Registration(e.Issuer); reg != nil && reg.ID == e.Client.ID {
			reg.Refused = true
		}
		return nil
	})
	if err != nil {
		k.opt.Log.Warn("could not remember that a credential was refused", "server", s.Server, "error", err)
	}
	if newer {
		f := failed(ctx, s, "refresh the token", errors.New("it was replaced by a login meanwhile"))
		f.Class = failure.RateLimited
		return f
	}
	return needsLogin(s, why)
}

// blot is a text without secrets that its author was sent: it is kept, and shown by
// processes that do not know them.
func blot(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[token]")
		}
	}
	return text
}

// sleep waits, unless ctx is done before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
