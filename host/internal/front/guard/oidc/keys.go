package oidc

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// refreshAfter is how old keys get before they are asked for again, so that one
	// that the issuer took back stops counting.
	refreshAfter = 10 * time.Minute
	// keysLast is how long they count when the issuer cannot be reached meanwhile.
	keysLast = 6 * time.Hour
	// pause is the least time between two questions. A token can name any key, so
	// this is all that a flood of such tokens makes of the issuer.
	pause = 5 * time.Second
	// fetchTime bounds one question: metadata and keys.
	fetchTime = 10 * time.Second
	// mostKeys of a set are looked at. Large issuers have about ten.
	mostKeys = 100
	// leastRSA is the shortest RSA key that counts (RFC 7518 section 3.3).
	leastRSA = 2048
)

// errNoKey says that the issuer has no such key.
var errNoKey = errors.New("no such key")

// keySet is an issuer's keys: asked for when the first token comes, again when a
// token names one that is not among them, and when they are old.
type keySet struct {
	fetch  func(context.Context) ([]byte, error)
	ctx    context.Context // of questions, until close
	cancel context.CancelFunc
	asking sync.WaitGroup

	mu      sync.Mutex
	text    []byte
	keys    []jose.JSONWebKey
	number  int // grows with each other set
	fetched time.Time
	asked   time.Time
	err     error         // of the last question
	pending chan struct{} // closed with the answer to the one that is under way
}

func newKeySet(fetch func(context.Context) ([]byte, error)) *keySet {
	ctx, cancel := context.WithCancel(context.Background())
	return &keySet{fetch: fetch, ctx: ctx, cancel: cancel}
}

func (s *keySet) close() {
	s.mu.Lock() // no question begins after this
	s.cancel()
	s.mu.Unlock()
	s.asking.Wait()
}

// generation is the number of the set that counts now, 0 for none. It has old keys
// asked for again.
func (s *keySet) generation() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.usable() {
		return 0
	}
	if time.Since(s.fetched) > refreshAfter {
		s.ask()
	}
	return s.number
}

// find returns the keys that match. It waits for the issuer only when there would
// be none without.
func (s *keySet) find(ctx context.Context, match func(jose.JSONWebKey) bool) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for waited := false; ; waited = true {
		if s.usable() {
			if time.Since(s.fetched) > refreshAfter {
				s.ask()
			}
			var found []jose.JSONWebKey
			for _, k := range s.keys {
				if match(k) {
					found = append(found, k)
				}
			}
			if len(found) > 0 {
				return found, nil
			}
		}
		if !waited {
			s.ask()
		}
		if waited || s.pending == nil {
			if s.usable() {
				return nil, errNoKey
			}
			return nil, s.err
		}
		pending := s.pending
		s.mu.Unlock()
		select {
		case <-pending:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return nil, context.Cause(ctx)
		}
	}
}

func (s *keySet) usable() bool { return s.number > 0 && time.Since(s.fetched) < keysLast }

// ask puts the question to the issuer, unless it was just put.
func (s *keySet) ask() {
	if s.pending != nil || !s.asked.IsZero() && time.Since(s.asked) < pause || s.ctx.Err() != nil {
		if s.err == nil && s.ctx.Err() != nil {
			s.err = errors.New("closed")
		}
		return
	}
	s.asked = time.Now()
	s.pending = make(chan struct{})
	s.asking.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, fetchTime)
		defer cancel()
		text, err := s.fetch(ctx)
		var keys []jose.JSONWebKey
		if err == nil {
			keys, err = parseKeys(text)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err = err; err == nil {
			if s.number == 0 || !bytes.Equal(text, s.text) {
				s.number++
			}
			s.text, s.keys, s.fetched = text, keys, time.Now()
		}
		close(s.pending)
		s.pending = nil
	})
}

// parseKeys reads a JSON Web Key Set (RFC 7517). A key that is of no use here is
// passed over, a set without any useful one is a fault.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct{ Keys []json.RawMessage }
	if json.Unmarshal(text, &set) != nil {
		return nil, errors.New("the answer is no JSON Web Key Set")
	}
	if len(set.Keys) > mostKeys {
		return nil, fmt.Errorf("the set has %d keys, more than %d", len(set.Keys), mostKeys)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && (k.Use == "" || k.Use == "sig") && family(k) != "" {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of the set's %d keys is a public key for signatures", len(set.Keys))
	}
	return keys, nil
}

// family is the start of the names of the algorithms that the key verifies, "" for
// one that must not be used: a private key or a shared secret that somebody
// published, or one that is too short.
func family(k jose.JSONWebKey) string {
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() >= leastRSA {
			return "RS PS"
		}
	case *ecdsa.PublicKey:
		// The curve belongs to the algorithm (RFC 7518 section 3.4).
		return map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}[key.Curve.Params().Name]
	case ed25519.PublicKey:
		return "EdDSA"
	}
	return ""
}

// signs reports whether the key may have made signatures of that algorithm.
func signs(k jose.JSONWebKey, alg jose.SignatureAlgorithm) bool {
	if k.Algorithm != "" && k.Algorithm != string(alg) {
		return false
	}
	for word := range strings.FieldsSeq(family(k)) {
		if strings.HasPrefix(string(alg), word) {
			return true
		}
	}
	return false
}
