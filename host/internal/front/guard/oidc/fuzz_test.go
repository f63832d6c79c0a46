package oidc_test

import (
	"crypto/elliptic"
	"errors"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/go-jose/go-jose/v4"
)

// No token but the issuer's counts, and what is said of another is a refusal
// without any of it.
func FuzzToken(f *testing.F) {
	key, stranger := ecKey(f, "k", elliptic.P256()), ecKey(f, "k", elliptic.P256())
	s := bubbleServer(key)
	i, err := oidc.New(oidc.Options{Issuer: s.URL, Audiences: []string{audience}, Client: inside(s)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(i.Close)
	good := sign(f, key, jose.ES256, claims(s, nil))
	f.Add(good)
	f.Add(sign(f, stranger, jose.ES256, claims(s, nil)))
	f.Add(sign(f, key, jose.ES256, claims(s, said{"iss": "x"})))
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("eyJ.eyJ.eyJ")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := i.Authenticate(t.Context(), token)
		if err == nil {
			// Only the last character's unused bits may differ (RFC 4648 section 3.5).
			if len(token) != len(good) || token[:len(token)-1] != good[:len(good)-1] {
				t.Fatalf("%q counts for %+v", token, p)
			}
			return
		}
		if _, refused := errors.AsType[*guard.Refusal](err); !refused && !errors.Is(err, guard.ErrUnknown) {
			t.Fatalf("%q: %v", token, err)
		}
		for part := range strings.SplitSeq(token, ".") {
			if len(part) > 20 && strings.Contains(err.Error(), part) {
				t.Fatalf("the error holds a part of the token: %v", err)
			}
		}
	})
}

// A key set is a stranger's too, until it is read.
func FuzzKeySet(f *testing.F) {
	key := ecKey(f, "k", elliptic.P256())
	public := key.Public()
	text, err := public.MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"keys":[` + string(text) + `]}`)
	f.Add(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`)
	f.Add(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`)
	f.Add(`{"keys":7}`)
	f.Fuzz(func(t *testing.T, set string) {
		i, err := oidc.New(oidc.Options{
			Issuer: "https://login.example.com", JWKS: "https://login.example.com/keys", Audiences: []string{audience},
			Client: answering(set),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		_ = i.Check(t.Context())
	})
}

func BenchmarkToken(b *testing.B) {
	for _, key := range []struct {
		alg jose.SignatureAlgorithm
		key jose.JSONWebKey
	}{{jose.RS256, rsaKey(b, "k", 2048)}, {jose.ES256, ecKey(b, "k", elliptic.P256())}, {jose.EdDSA, edKey(b, "k")}} {
		s := bubbleServer(key.key)
		i, err := oidc.New(oidc.Options{Issuer: s.URL, Audiences: []string{audience}, Client: inside(s)})
		if err != nil {
			b.Fatal(err)
		}
		defer i.Close()
		if err := i.Check(b.Context()); err != nil {
			b.Fatal(err)
		}
		token := sign(b, key.key, key.alg, claims(s, nil))
		forged := token[:len(token)-8] + "AAAAAAAA"
		b.Run("known/"+string(key.alg), func(b *testing.B) {
			for b.Loop() {
				if _, err := i.Authenticate(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("forged/"+string(key.alg), func(b *testing.B) {
			for b.Loop() {
				if _, err := i.Authenticate(b.Context(), forged); err == nil {
					b.Fatal("it counts")
				}
			}
		})
	}
}
