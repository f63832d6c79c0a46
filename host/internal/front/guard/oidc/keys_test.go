package oidc_test

import (
	"context"
	"crypto/elliptic"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/go-jose/go-jose/v4"
)

// inside serves the issuer to requests without a network, so that the test's time
// may be a bubble's.
func inside(s *server) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		w := newRecorder()
		s.serve(w, r)
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return w.response(r), nil
	})}
}

// answering is a client that gets the same text for everything.
func answering(text string) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		w := newRecorder()
		fmt.Fprint(w, text)
		return w.response(r), nil
	})}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestRotation(t *testing.T) {
	old, next := ecKey(t, "old", elliptic.P256()), ecKey(t, "next", elliptic.P256())
	synctest.Test(t, func(t *testing.T) {
		s := bubbleServer(old)
		i := newIssuer(t, s, func(o *oidc.Options) { o.Client = inside(s) })
		token := func(key jose.JSONWebKey) string {
			return sign(t, key, jose.ES256, claims(s, said{"exp": time.Now().Add(48 * time.Hour).Unix()}))
		}
		counts := func(when string, key jose.JSONWebKey, want bool) {
			t.Helper()
			_, err := i.Authenticate(t.Context(), token(key))
			if _, refused := errors.AsType[*guard.Refusal](err); want != (err == nil) || err != nil && !refused {
				t.Errorf("%s, %s: %v; want that it counts: %v", when, key.KeyID, err, want)
			}
		}
		kept := token(old)
		for range 2 {
			if _, err := i.Authenticate(t.Context(), kept); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		s.publish(old, next)
		counts("published", next, true)
		counts("published", old, true)
		if n := s.times("/keys"); n != 2 {
			t.Errorf("the keys were asked for %d times", n)
		}
		// A key that was taken back stops counting without anybody asking for another,
		// also for a token that was verified before.
		s.publish(next)
		time.Sleep(11 * time.Minute)
		counts("refreshed in the background", next, true)
		synctest.Wait()
		counts("taken back", old, false)
		if _, err := i.Authenticate(t.Context(), kept); err == nil {
			t.Error("a token that is remembered outlives its key")
		}
		counts("taken back", next, true)
	})
}

// A token that was verified before is looked at again when the keys change, and when
// its time is over.
func TestRememberedTokens(t *testing.T) {
	old, next := ecKey(t, "old", elliptic.P256()), ecKey(t, "next", elliptic.P256())
	synctest.Test(t, func(t *testing.T) {
		s := bubbleServer(old)
		i := newIssuer(t, s, func(o *oidc.Options) { o.Client = inside(s) })
		token := sign(t, old, jose.ES256, claims(s, nil)) // for an hour
		counts := func(when string) {
			t.Helper()
			for range 2 {
				if _, err := i.Authenticate(t.Context(), token); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
		}
		counts("at first")
		counts("at first")
		time.Sleep(time.Hour + 30*time.Second)
		counts("within the skew")
		time.Sleep(time.Minute)
		refused(t, i, "after its time", token, guard.Expired)

		token = sign(t, old, jose.ES256, claims(s, nil))
		counts("another")
		s.publish(next)
		time.Sleep(11 * time.Minute)
		_, _ = i.Authenticate(t.Context(), token) // has the keys asked for
		synctest.Wait()
		refused(t, i, "after its key", token, guard.UnknownKey)
	})
}

// The issuer may be down for a while, and comes back.
func TestIssuerIsDown(t *testing.T) {
	key, other := ecKey(t, "k", elliptic.P256()), ecKey(t, "other", elliptic.P256())
	synctest.Test(t, func(t *testing.T) {
		s := bubbleServer(key)
		s.fail(http.StatusBadGateway)
		i := newIssuer(t, s, func(o *oidc.Options) { o.Client = inside(s) })
		try := func(key jose.JSONWebKey) error {
			_, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, nil)))
			return err
		}
		undecided := func(when string, err error) {
			t.Helper()
			if _, refused := errors.AsType[*guard.Refusal](err); err == nil || refused || !strings.Contains(err.Error(), s.URL) || !strings.Contains(err.Error(), "502") {
				t.Errorf("%s: %v; want what went wrong with the issuer", when, err)
			}
		}
		undecided("down at the start", try(key))
		undecided("down at the start", i.Check(t.Context()))
		s.fail(0)
		undecided("within the pause", try(key))
		time.Sleep(6 * time.Second)
		if err := try(key); err != nil {
			t.Errorf("up again: %v", err)
		}
		if err := i.Check(t.Context()); err != nil {
			t.Errorf("up again: %v", err)
		}
		s.fail(http.StatusBadGateway)
		time.Sleep(5 * time.Hour)
		if err := try(key); err != nil {
			t.Errorf("down for hours: %v", err)
		}
		if _, refused := errors.AsType[*guard.Refusal](try(other)); !refused {
			t.Error("down for hours: a key that is not known counts")
		}
		time.Sleep(2 * time.Hour)
		undecided("down for too long", try(key))
		s.fail(0)
		time.Sleep(6 * time.Second)
		if err := try(key); err != nil {
			t.Errorf("up again: %v", err)
		}
	})
}

// Tokens that name keys which do not exist do not make requests.
func TestFloodOfKeyNames(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	synctest.Test(t, func(t *testing.T) {
		s := bubbleServer(key)
		i := newIssuer(t, s, func(o *oidc.Options) { o.Client = inside(s) })
		for n := range 300 {
			forged := key
			forged.KeyID = fmt.Sprint("forged ", n)
			refused(t, i, "a forged key name", sign(t, forged, jose.ES256, claims(s, nil)), guard.UnknownKey)
			time.Sleep(100 * time.Millisecond) // half a minute in all
		}
		if n := s.times("/keys"); n < 2 || n > 7 {
			t.Errorf("300 tokens in half a minute made %d requests", n)
		}
		if _, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, nil))); err != nil {
			t.Errorf("a good token among them: %v", err)
		}
		// Those of other issuers make none at all.
		before := s.times("/keys")
		time.Sleep(time.Minute)
		forged := key
		forged.KeyID = "other"
		refused(t, i, "another issuer's", sign(t, forged, jose.ES256, claims(s, said{"iss": "https://x.example"})), guard.BadIssuer)
		if n := s.times("/keys"); n != before {
			t.Errorf("a token of another issuer made %d requests", n-before)
		}
	})
}

// A token without the name of a key is tried with a few keys and no more.
func TestTokenWithoutKeyName(t *testing.T) {
	var keys []jose.JSONWebKey
	for n := range 6 {
		keys = append(keys, ecKey(t, fmt.Sprint(n), elliptic.P256()))
	}
	nameless := keys[3]
	nameless.KeyID = ""
	s := newServer(t, keys[:4]...)
	i := newIssuer(t, s, nil)
	if _, err := i.Authenticate(t.Context(), sign(t, nameless, jose.ES256, claims(s, nil))); err != nil {
		t.Errorf("one of four keys: %v", err)
	}
	stranger := ecKey(t, "", elliptic.P256())
	refused(t, i, "a foreign key without a name", sign(t, stranger, jose.ES256, claims(s, nil)), guard.BadSignature)
	s = newServer(t, keys...)
	i = newIssuer(t, s, nil)
	refused(t, i, "one of six keys", sign(t, nameless, jose.ES256, claims(s, nil)), guard.UnknownKey)
}

// Many requests at once make one question, and none of them waits longer than its
// client does.
func TestOneQuestionAtOnce(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	synctest.Test(t, func(t *testing.T) {
		s := bubbleServer(key)
		s.delay = make(chan bool)
		i := newIssuer(t, s, func(o *oidc.Options) { o.Client = inside(s) })
		token := sign(t, key, jose.ES256, claims(s, nil))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := i.Authenticate(gone, token); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has gone: %v", err)
		}
		var waiting sync.WaitGroup
		for range 50 {
			waiting.Go(func() {
				if _, err := i.Authenticate(t.Context(), token); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(8 * time.Second) // longer than the pause
		waiting.Go(func() {
			if _, err := i.Authenticate(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(s.delay)
		waiting.Wait()
		if n := s.times("/keys"); n != 1 {
			t.Errorf("the keys were asked for %d times", n)
		}
	})
}

// Close ends a question that is under way.
func TestCloseEndsQuestions(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	synctest.Test(t, func(t *testing.T) {
		s := bubbleServer(key)
		i := newIssuer(t, s, func(o *oidc.Options) {
			o.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}
		})
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if err := i.Check(t.Context()); err == nil {
				t.Error("an answer from nobody")
			}
		})
		synctest.Wait()
		i.Close()
		waiting.Wait()
		if _, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, nil))); err == nil {
			t.Error("a token counts after Close without any key")
		}
	})
}

func TestDiscovery(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	for what, test := range map[string]struct {
		meta func(base string) map[string]any
		want string // "" when all is well
	}{
		"as it should be": {nil, ""},
		"another issuer": {func(base string) map[string]any {
			return map[string]any{"issuer": base + "/", "jwks_uri": base + "/keys"}
		}, "is the metadata of the issuer"},
		"no keys": {func(base string) map[string]any { return map[string]any{"issuer": base} }, "no metadata with a jwks_uri"},
		"keys over plain http": {func(base string) map[string]any {
			return map[string]any{"issuer": base, "jwks_uri": "http://10.0.0.1/keys"}
		}, "use https"},
		"keys in a file": {func(base string) map[string]any {
			return map[string]any{"issuer": base, "jwks_uri": "file:///etc/passwd"}
		}, "it is no URL"},
		"keys that are not there": {func(base string) map[string]any { return map[string]any{"issuer": base, "jwks_uri": base + "/other"} }, "status 404"},
		"keys that are metadata": {func(base string) map[string]any {
			return map[string]any{"issuer": base, "jwks_uri": base + "/.well-known/openid-configuration"}
		}, "none of the set's 0 keys"},
	} {
		s := newServer(t, key)
		s.meta = test.meta
		i := newIssuer(t, s, nil)
		err := i.Check(t.Context())
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v; want %q", what, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has lines: %v", what, err)
		}
	}
	s := newServer(t, key)
	s.fail(http.StatusFound) // to where good keys are
	if err := newIssuer(t, s, func(o *oidc.Options) { o.JWKS = s.URL + "/moved" }).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "status 302") {
		t.Errorf("a redirect: %v", err)
	}
	s = newServer(t, key)
	if err := newIssuer(t, s, func(o *oidc.Options) { o.JWKS = s.URL + "/keys" }).Check(t.Context()); err != nil || s.times("/.well-known/openid-configuration") != 0 {
		t.Errorf("keys at a known place: %v", err)
	}
	s = newServer(t)
	s.keys = strings.Repeat("x", 2<<20)
	if err := newIssuer(t, s, nil).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("two megabytes of keys: %v", err)
	}
	s = newServer(t)
	many := make([]any, 101)
	s.keys = many
	if err := newIssuer(t, s, nil).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "101 keys") {
		t.Errorf("a hundred and one keys: %v", err)
	}
}

// An issuer elsewhere must not name a place on this computer for its keys.
func TestKeysOnThisComputer(t *testing.T) {
	i, err := oidc.New(oidc.Options{
		Issuer: "https://login.example.com/tenant", Audiences: []string{audience},
		Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			w := newRecorder()
			if r.URL.Path == "/.well-known/oauth-authorization-server/tenant" {
				fmt.Fprint(w, `{"issuer":"https://login.example.com/tenant","jwks_uri":"https://127.0.0.1/keys"}`)
			} else {
				w.WriteHeader(404)
			}
			if r.URL.Hostname() != "login.example.com" {
				t.Errorf("asked %s", r.URL)
			}
			return w.response(r), nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "is on this computer") {
		t.Error(err)
	}
}
