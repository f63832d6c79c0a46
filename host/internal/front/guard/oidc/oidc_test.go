package oidc_test

import (
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/go-jose/go-jose/v4"
)

// refused checks that the token is, for that reason, and that the error has no part
// of it.
func refused(t *testing.T, i *oidc.Issuer, what, token string, want guard.Reason) *guard.Refusal {
	t.Helper()
	p, err := i.Authenticate(t.Context(), token)
	refusal, ok := errors.AsType[*guard.Refusal](err)
	if !ok || refusal.Reason != want {
		t.Errorf("%s: %+v, %v; want a refusal for %s", what, p, err, want)
		return &guard.Refusal{}
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 && strings.Contains(err.Error(), part) {
			t.Errorf("%s: the error holds a part of the token: %v", what, err)
		}
	}
	return refusal
}

func TestSignatures(t *testing.T) {
	r, e256, e384, e521, ed := rsaKey(t, "r", 2048), ecKey(t, "e256", elliptic.P256()), ecKey(t, "e384", elliptic.P384()), ecKey(t, "e521", elliptic.P521()), edKey(t, "ed")
	s := newServer(t, r, e256, e384, e521, ed)
	i := newIssuer(t, s, nil)
	for alg, key := range map[jose.SignatureAlgorithm]jose.JSONWebKey{
		jose.RS256: r, jose.RS384: r, jose.RS512: r, jose.PS256: r, jose.PS384: r, jose.PS512: r,
		jose.ES256: e256, jose.ES384: e384, jose.ES512: e521, jose.EdDSA: ed,
	} {
		for range 2 { // the second time from memory
			p, err := i.Authenticate(t.Context(), sign(t, key, alg, claims(s, nil)))
			if err != nil || p.ID != "oidc:"+s.URL+"|alice" || !p.Allows("any", "tool") {
				t.Errorf("%s: %+v, %v", alg, p, err)
			}
		}
	}
	if n := s.times("/keys"); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
	// A key of the same kind that is not the issuer's, with the name of one that is.
	for alg, key := range map[jose.SignatureAlgorithm]jose.JSONWebKey{
		jose.RS256: rsaKey(t, "r", 2048), jose.ES256: ecKey(t, "e256", elliptic.P256()), jose.EdDSA: edKey(t, "ed"),
	} {
		refused(t, i, "a foreign key, "+string(alg), sign(t, key, alg, claims(s, nil)), guard.BadSignature)
	}
	token := sign(t, r, jose.RS256, claims(s, nil))
	parts := strings.Split(token, ".")
	other := strings.Split(sign(t, r, jose.RS256, claims(s, said{"sub": "root"})), ".")
	refused(t, i, "another token's claims", strings.Join([]string{parts[0], other[1], parts[2]}, "."), guard.BadSignature)
	refused(t, i, "no signature", parts[0]+"."+parts[1]+".", guard.BadSignature)
}

func TestAlgorithmConfusion(t *testing.T) {
	r, e := rsaKey(t, "r", 2048), ecKey(t, "e", elliptic.P256())
	s := newServer(t, r, e)
	i := newIssuer(t, s, nil)
	encode := base64.RawURLEncoding.EncodeToString
	payload, err := json.Marshal(claims(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, alg := range []string{"none", "None", "NONE", "", "nOnE"} {
		for _, signature := range []string{"", "AAAA"} {
			header := encode([]byte(`{"alg":"` + alg + `","kid":"r"}`))
			refused(t, i, "alg "+alg, header+"."+encode(payload)+"."+signature, guard.BadAlgorithm)
		}
	}
	// The public key, in every spelling, as a shared secret.
	public := r.Key.(*rsa.PrivateKey).Public()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	jwkText, err := r.Public().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for _, secret := range [][]byte{der, block, slices.Clone(block[:len(block)-1]), jwkText} {
		for _, alg := range []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512} {
			refused(t, i, string(alg)+" with the public key", sign(t, jose.JSONWebKey{Key: secret, KeyID: "r"}, alg, claims(s, nil)), guard.BadAlgorithm)
		}
	}
	// A key of the token's own.
	own := rsaKey(t, "r", 2048)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: own}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Authenticate(t.Context(), token); err == nil {
		t.Error("a token that brings its key counts")
	}
	refused(t, i, "an address of keys in the token", sign(t, own, jose.RS256, claims(s, nil), "jku", "https://evil.example/keys"), guard.BadSignature)
	// An algorithm of another family than the key's, and one that is not allowed.
	refused(t, i, "the name of an EC key", sign(t, jose.JSONWebKey{Key: r.Key, KeyID: "e"}, jose.RS256, claims(s, nil)), guard.UnknownKey)
	only := newIssuer(t, s, func(o *oidc.Options) { o.Algorithms = []string{"ES256"} })
	refused(t, only, "an algorithm that is not configured", sign(t, r, jose.RS256, claims(s, nil)), guard.BadAlgorithm)
	if _, err := only.Authenticate(t.Context(), sign(t, e, jose.ES256, claims(s, nil))); err != nil {
		t.Errorf("the one that is: %v", err)
	}
}

// Keys that no signature of an access token may be checked with are as if they were
// not in the set.
func TestKeysOfNoUse(t *testing.T) {
	short, encryption, named, secret := rsaKey(t, "short", 1024), rsaKey(t, "enc", 2048), rsaKey(t, "named", 2048), []byte(strings.Repeat("s", 64))
	encryption.Use = "enc"
	named.Algorithm = "RS512"
	good := ecKey(t, "good", elliptic.P256())
	s := newServer(t, short, encryption, named, good)
	s.keys = append(s.keys.([]any), jose.JSONWebKey{Key: secret, KeyID: "secret"}, map[string]any{"kty": "new", "kid": "x"}, map[string]any{"kty": "RSA", "n": "!"}, 7, nil)
	i := newIssuer(t, s, nil)
	if _, err := i.Authenticate(t.Context(), sign(t, good, jose.ES256, claims(s, nil))); err != nil {
		t.Errorf("the good key beside them: %v", err)
	}
	refused(t, i, "a short RSA key", sign(t, short, jose.RS256, claims(s, nil)), guard.UnknownKey)
	refused(t, i, "a key for encryption", sign(t, encryption, jose.RS256, claims(s, nil)), guard.UnknownKey)
	refused(t, i, "a key for another algorithm", sign(t, named, jose.RS256, claims(s, nil)), guard.UnknownKey)
	if _, err := i.Authenticate(t.Context(), sign(t, named, jose.RS512, claims(s, nil))); err != nil {
		t.Errorf("a key for its own algorithm: %v", err)
	}
	// A private key in the set is public knowledge.
	leaked := ecKey(t, "leaked", elliptic.P256())
	s2 := newServer(t)
	s2.keys = []any{leaked}
	i2 := newIssuer(t, s2, nil)
	if _, err := i2.Authenticate(t.Context(), sign(t, leaked, jose.ES256, claims(s2, nil))); err == nil {
		t.Error("a key whose private half is published counts")
	}
}

func TestClaims(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	s := newServer(t, key)
	i := newIssuer(t, s, func(o *oidc.Options) { o.Audiences = []string{audience, "collet"} })
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for what, test := range map[string]struct {
		changes said
		want    guard.Reason // "" for none
	}{
		"as they should be":         {nil, ""},
		"another of the audiences":  {said{"aud": "collet"}, ""},
		"one of several audiences":  {said{"aud": []string{"x", audience}}, ""},
		"expired within the skew":   {said{"exp": at(-30 * time.Second)}, ""},
		"valid within the skew":     {said{"nbf": at(30 * time.Second), "iat": at(30 * time.Second)}, ""},
		"no iat":                    {said{"iat": nil}, ""},
		"another issuer":            {said{"iss": "https://evil.example"}, guard.BadIssuer},
		"the issuer with a slash":   {said{"iss": s.URL + "/"}, guard.BadIssuer},
		"no issuer":                 {said{"iss": nil}, guard.BadIssuer},
		"another audience":          {said{"aud": "https://other.example"}, guard.BadAudience},
		"an audience with more":     {said{"aud": audience + "/"}, guard.BadAudience},
		"no audience":               {said{"aud": nil}, guard.BadAudience},
		"an empty list of them":     {said{"aud": []string{}}, guard.BadAudience},
		"an audience of a type":     {said{"aud": 7}, guard.BadClaims},
		"expired":                   {said{"exp": at(-90 * time.Second)}, guard.Expired},
		"expired at the epoch":      {said{"exp": 0}, guard.Expired},
		"expires before time began": {said{"exp": -1e18}, guard.Expired},
		"expires never":             {said{"exp": nil}, guard.BadClaims},
		"expires in words":          {said{"exp": "tomorrow"}, guard.BadClaims},
		"expires as null":           {said{"exp": json.RawMessage("null")}, guard.BadClaims},
		"not yet":                   {said{"nbf": at(2 * time.Minute)}, guard.NotYetValid},
		"issued in the future":      {said{"iat": at(2 * time.Minute)}, guard.NotYetValid},
		"nobody's":                  {said{"sub": nil}, guard.BadClaims},
		"of an empty somebody":      {said{"sub": ""}, guard.BadClaims},
		"of a number":               {said{"sub": 7}, guard.BadClaims},
		"of a long name":            {said{"sub": strings.Repeat("x", 257)}, guard.BadClaims},
		"of a name with lines":      {said{"sub": "a\nb"}, guard.BadClaims},
	} {
		token := sign(t, key, jose.ES256, claims(s, test.changes))
		if test.want == "" {
			if _, err := i.Authenticate(t.Context(), token); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		refused(t, i, what, token, test.want)
	}
	for typ, ok := range map[string]bool{"JWT": true, "at+jwt": true, "application/at+jwt": true, "AT+JWT": true, "dpop+jwt": false, "logout+jwt": false, "": false} {
		_, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, nil), "typ", typ))
		if ok != (err == nil) {
			t.Errorf("typ %q: %v", typ, err)
		}
	}
	for _, token := range []string{"", "abc", "a.b.c", "eyJ", canaryLike, canaryLike + ".x.y", "eyJ.a"} {
		if _, err := i.Authenticate(t.Context(), token); !errors.Is(err, guard.ErrUnknown) {
			t.Errorf("%q, which is no JSON Web Token: %v", token, err)
		}
	}
	for _, token := range []string{"eyJ..", "eyJhbGciOiJFUzI1NiJ9.!.x", "eyJhbGciOiJFUzI1NiJ9.e30.", "eyJ.eyJ.eyJ"} {
		if _, err := i.Authenticate(t.Context(), token); err == nil || errors.Is(err, guard.ErrUnknown) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

const canaryLike = "canary-7f3a9c51e0b84d6297d1f5a3c8e2b604"

func TestPrincipals(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	s := newServer(t, key)
	i := newIssuer(t, s, func(o *oidc.Options) { o.IDClaim = "email" })
	p, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, said{"email": "a@example.com"})))
	if err != nil || p.ID != "oidc:"+s.URL+"|a@example.com" || time.Until(p.Expires) < 50*time.Minute {
		t.Errorf("by email: %+v, %v", p, err)
	}
	refused(t, i, "without the claim", sign(t, key, jose.ES256, claims(s, nil)), guard.BadClaims)
}

func TestScopes(t *testing.T) {
	key := ecKey(t, "k", elliptic.P256())
	s := newServer(t, key)
	i := newIssuer(t, s, func(o *oidc.Options) { o.Scopes = []string{"mcp", "tools"} })
	for what, c := range map[string]said{
		"scope": {"scope": "tools  mcp other"}, "scp as text": {"scp": "mcp tools"}, "scp as a list": {"scp": []string{"tools", "mcp"}},
	} {
		if _, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, c))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, c := range map[string]said{
		"none": nil, "one of two": {"scope": "mcp"}, "a part of a name": {"scope": "mcp:x tools"}, "another type": {"scope": 7},
		"another case": {"scope": "MCP tools"},
	} {
		r := refused(t, i, what, sign(t, key, jose.ES256, claims(s, c)), guard.BadScope)
		if !slices.Equal(r.Scopes, []string{"mcp", "tools"}) {
			t.Errorf("%s: the refusal names the scopes %v", what, r.Scopes)
		}
	}

	i = newIssuer(t, s, func(o *oidc.Options) {
		o.Grants = map[string]guard.Grant{
			"read":  {Servers: []string{"docs"}, Ceiling: exposure.Deferred},
			"admin": {Servers: []string{"github"}},
		}
	})
	p, err := i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, said{"scope": "read x"})))
	if err != nil || !p.Allows("docs", "a") || p.Allows("github", "a") || p.Exposure("docs", "a", exposure.Direct) != exposure.Deferred {
		t.Errorf("read: %+v, %v", p, err)
	}
	p, err = i.Authenticate(t.Context(), sign(t, key, jose.ES256, claims(s, said{"scope": "admin read"})))
	if err != nil || !p.Allows("docs", "a") || !p.Allows("github", "a") {
		t.Errorf("both: %+v, %v", p, err)
	}
	if r := refused(t, i, "neither", sign(t, key, jose.ES256, claims(s, said{"scope": "x"})), guard.BadScope); !slices.Equal(r.Scopes, []string{"admin", "read"}) {
		t.Errorf("the refusal names the scopes %v", r.Scopes)
	}
}

func TestOptions(t *testing.T) {
	good := func() oidc.Options {
		return oidc.Options{Issuer: "https://login.example.com", Audiences: []string{"x"}}
	}
	for want, change := range map[string]func(*oidc.Options){
		"no audience":           func(o *oidc.Options) { o.Audiences = nil },
		"an audience is empty":  func(o *oidc.Options) { o.Audiences = []string{""} },
		"use https":             func(o *oidc.Options) { o.Issuer = "http://login.example.com" },
		"is no URL":             func(o *oidc.Options) { o.Issuer = "login.example.com" },
		"without query":         func(o *oidc.Options) { o.Issuer += "?a=b" },
		"keys at http://":       func(o *oidc.Options) { o.JWKS = "http://login.example.com/keys" },
		"keys at file:///keys":  func(o *oidc.Options) { o.JWKS = "file:///keys" },
		`"HS256" is no`:         func(o *oidc.Options) { o.Algorithms = []string{"HS256"} },
		`"none" is no`:          func(o *oidc.Options) { o.Algorithms = []string{"ES256", "none"} },
		"a clock skew of 1h0m0": func(o *oidc.Options) { o.Skew = time.Hour },
	} {
		opt := good()
		change(&opt)
		if _, err := oidc.New(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q: %v", want, err)
		}
	}
	i, err := oidc.New(good())
	if err != nil {
		t.Fatal(err)
	}
	i.Close()
}
