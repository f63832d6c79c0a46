// Package oidc knows the access tokens of one authorization server: JSON Web Tokens
// that it signed for this resource (RFC 9068, OpenID Connect). It finds the server's
// keys by itself and follows when they change.
//
// It never asks the server about a token, never sends one anywhere, and takes no
// key, address or algorithm from a token.
package oidc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Options say whose tokens count.
type Options struct {
	// Issuer is the authorization server as its tokens name it (iss), to the letter.
	Issuer string
	// Audiences are the names of this resource, one of which a token has to be made
	// for (aud); mostly its URL.
	Audiences []string
	// JWKS is where the issuer's keys are. Default: as its metadata says.
	JWKS string
	// Algorithms are the signatures that count. Default: all of RS*, PS*, ES* and
	// EdDSA. Those that share a secret (HS*) never do.
	Algorithms []string
	// Skew is how far the issuer's clock and this one may be apart. Default 60 s.
	Skew time.Duration
	// IDClaim names the claim that tells principals apart. Default "sub"; others
	// ("email") only where the issuer vouches that nobody else can get the same.
	IDClaim string
	// Scopes are what every token has to have.
	Scopes []string
	// Grants are what a principal may use, by scope: a token gets those of all its
	// scopes, and one without any is refused. None: every token may use everything.
	Grants map[string]guard.Grant
	// Client does the requests, for an issuer with an authority of its own. Default:
	// one that uses the system's proxies and authorities. Redirects are never
	// followed.
	Client *http.Client
}

// mostVerified bounds how many tokens are remembered as verified. All of them are
// the issuer's: a stranger's are not kept.
const mostVerified = 4096

// algorithms are the signatures that this package accepts at all.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Issuer is one authorization server, a guard.Authenticator. Close it.
type Issuer struct {
	opt        Options
	algorithms []jose.SignatureAlgorithm
	keys       *keySet

	// verifying bounds how many signatures are checked at once, to half of the
	// processors: forged tokens cost 0.2 ms each and must not cost everything.
	verifying chan struct{}

	mu         sync.Mutex
	verified   map[[sha256.Size]byte]*guard.Principal // by token
	generation int                                    // of the keys that they were verified with
}

// New checks the options. It asks the issuer nothing yet: one that is down keeps
// nobody from starting.
func New(opt Options) (*Issuer, error) {
	i := &Issuer{
		opt:       opt,
		verifying: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		verified:  map[[sha256.Size]byte]*guard.Principal{},
	}
	if len(opt.Audiences) == 0 {
		return nil, fmt.Errorf("issuer %s: no audience is configured, and a token that was made for another resource must not count here: write the audience that the issuer puts into tokens for collet, mostly its URL", opt.Issuer)
	}
	if slices.Contains(opt.Audiences, "") {
		return nil, fmt.Errorf("issuer %s: an audience is empty", opt.Issuer)
	}
	if opt.Skew < 0 || opt.Skew > 10*time.Minute {
		return nil, fmt.Errorf("issuer %s: a clock skew of %s is not between 0 and 10 minutes", opt.Issuer, opt.Skew)
	}
	if opt.Skew == 0 {
		i.opt.Skew = time.Minute
	}
	if opt.IDClaim == "" {
		i.opt.IDClaim = "sub"
	}
	for _, word := range opt.Algorithms {
		a := jose.SignatureAlgorithm(word)
		if !slices.Contains(algorithms, a) {
			return nil, fmt.Errorf("issuer %s: %q is no signature that may count; there are %s", opt.Issuer, word, words(algorithms))
		}
		i.algorithms = append(i.algorithms, a)
	}
	if len(i.algorithms) == 0 {
		i.algorithms = algorithms
	}
	source, err := newSource(opt)
	if err != nil {
		return nil, fmt.Errorf("issuer %s: %w", opt.Issuer, err)
	}
	i.keys = newKeySet(source.fetch)
	return i, nil
}

// Check asks the issuer for its keys, to tell at the start what would be wrong with
// every token.
func (i *Issuer) Check(ctx context.Context) error {
	_, err := i.keys.find(ctx, func(jose.JSONWebKey) bool { return true })
	if errors.Is(err, errNoKey) {
		err = errors.New("lists no key that a signature could be checked with")
	}
	return i.undecided(err)
}

// Close ends what is still asked of the issuer.
func (i *Issuer) Close() { i.keys.close() }

// Authenticate implements guard.Authenticator.
func (i *Issuer) Authenticate(ctx context.Context, token string) (*guard.Principal, error) {
	if strings.Count(token, ".") != 2 || !strings.HasPrefix(token, "eyJ") { // {" in base64
		return nil, guard.ErrUnknown
	}
	hash := sha256.Sum256([]byte(token))
	if p := i.remembered(hash); p != nil {
		return p, nil
	}
	generation := i.keys.generation()
	p, err := i.verify(ctx, token)
	if err == nil {
		i.remember(hash, p, generation)
	}
	return p, err
}

func (i *Issuer) verify(ctx context.Context, token string) (*guard.Principal, error) {
	parsed, err := jwt.ParseSigned(token, i.algorithms)
	if err != nil {
		if _, alg := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); alg {
			return nil, refuse(guard.BadAlgorithm, "The token is signed in a way that does not count here, which takes %s.", words(i.algorithms))
		}
		return nil, refuse(guard.BadClaims, "The token looks like a JSON Web Token and cannot be read as one.")
	}
	var said claims
	if err := parsed.UnsafeClaimsWithoutVerification(&said.Claims, &said.all); err != nil {
		return nil, refuse(guard.BadClaims, "The token's claims are not as RFC 7519 has them.")
	}
	// Before anything is asked of the issuer: this costs a stranger's token nothing
	// but itself.
	if said.Issuer != i.opt.Issuer {
		return nil, refuse(guard.BadIssuer, "The token is of another authorization server.")
	}
	header := parsed.Headers[0]
	if !accessToken(header) {
		return nil, refuse(guard.BadClaims, "The token is no access token: its typ is another one.")
	}
	alg := jose.SignatureAlgorithm(header.Algorithm)
	keys, err := i.keys.find(ctx, func(k jose.JSONWebKey) bool {
		return (header.KeyID == "" || k.KeyID == header.KeyID) && signs(k, alg)
	})
	switch {
	case errors.Is(err, errNoKey):
		return nil, refuse(guard.UnknownKey, "The token is signed with a key that its issuer does not list.")
	case err != nil:
		return nil, i.undecided(err)
	case len(keys) > mostTried:
		return nil, refuse(guard.UnknownKey, "The token does not say which of the issuer's keys signed it.")
	}
	select {
	case i.verifying <- struct{}{}:
		defer func() { <-i.verifying }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for _, key := range keys {
		said = claims{} // nothing that was read before the signature was checked counts
		if parsed.Claims(key.Key, &said.Claims, &said.all) == nil {
			return i.principal(&said)
		}
	}
	return nil, refuse(guard.BadSignature, "The token's signature is not its issuer's.")
}

// mostTried is how many keys are tried for a token that names none.
const mostTried = 4

// accessToken reports whether the token's own type lets it be one. An ID token has
// none of its own; its audience tells it.
func accessToken(h jose.Header) bool {
	typ, said := h.ExtraHeaders["typ"]
	if !said {
		return true
	}
	word, _ := typ.(string)
	word = strings.TrimPrefix(strings.ToLower(word), "application/")
	return word == "jwt" || word == "at+jwt" // RFC 7519 section 5.1, RFC 9068 section 2.1
}

// remembered returns the principal of a token that was verified with the keys there
// are now, if it still counts.
func (i *Issuer) remembered(hash [sha256.Size]byte) *guard.Principal {
	generation := i.keys.generation()
	i.mu.Lock()
	defer i.mu.Unlock()
	if generation == 0 || generation != i.generation {
		return nil
	}
	p := i.verified[hash]
	if p == nil {
		return nil
	}
	if time.Now().After(p.Expires.Add(i.opt.Skew)) {
		delete(i.verified, hash)
		return nil
	}
	return p
}

// remember keeps a token that was verified with keys of that generation or newer
// ones.
func (i *Issuer) remember(hash [sha256.Size]byte, p *guard.Principal, generation int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case generation == 0 || generation < i.generation:
		return
	case generation > i.generation || len(i.verified) >= mostVerified:
		clear(i.verified)
		i.generation = generation
	}
	i.verified[hash] = p
}

func (i *Issuer) undecided(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("keys of issuer %s: %w", i.opt.Issuer, err)
}

func refuse(reason guard.Reason, format string, args ...any) *guard.Refusal {
	return &guard.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func words(algorithms []jose.SignatureAlgorithm) string {
	var list []string
	for _, a := range algorithms {
		list = append(list, string(a))
	}
	return strings.Join(list, ", ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
