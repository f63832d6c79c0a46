package credential

import (
	"context"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/challenge"
	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/store"
)

const (
	// maxLead is how long before its end a token is refreshed, and leadShare the part
	// of its lifetime when that is less: a call may take a while to arrive.
	maxLead   = time.Minute
	leadShare = 5
	// justIssued is how old a token must be before its refusal is taken for the token's
	// end: one that was refused at once is not what is wrong.
	justIssued = time.Second
	// maxSkew is how far a clock may have been set back before what it said of a
	// token's end counts no more.
	maxSkew = time.Minute
	// maxWanted bounds what is remembered of what a server asks for.
	maxWanted = 100
	// maxRounds bounds how often a caller looks again after a refresh of somebody else.
	maxRounds = 4
)

// Need is what a caller knows of the token it wants.
type Need struct {
	Scopes    []string // it has to have, as far as is known what it has
	Rejected  string   // the token that was just refused; "" is none
	Challenge string   // the WWW-Authenticate header that it was refused with; several joined by commas
}

// Token is a credential for requests to a resource.
type Token struct {
	Value  string
	Scheme string    // "Bearer"
	Expiry time.Time // zero: unknown
}

// Token returns a token that is good by all that is known here, after a refresh if
// need be, and never the one that was rejected. It asks no person: where only one
// can help, the error says which command to run. Errors are of type
// *failure.Failure with delivery NotSent: AuthFailure for that, Timeout,
// ConnectionRefused, DNSFailure, RateLimited and ServerError when the authorization
// server could not be asked and the old token has expired, InvalidArguments for
// settings that cannot work.
func (k *Keeper) Token(ctx context.Context, s Settings, need Need) (Token, error) {
	if err := s.Check(); err != nil {
		return Token{}, invalid(s, err)
	}
	k.tell(s.ClientSecret)
	if g := s.grant(); g == Command || g == ClientCredentials {
		return k.issue(ctx, s, need)
	}
	for range maxRounds {
		e, f := k.credential(s)
		if f != nil {
			return Token{}, f
		}
		if e == nil {
			return Token{}, needsLogin(s, "nobody has logged in yet")
		}
		k.writeAgain(ctx, *e)
		if e.Client.Source == store.Configured && e.Client.ID != s.ClientID || s.ClientID != "" && e.Client.ID != s.ClientID {
			return Token{}, needsLogin(s, "the stored one belongs to another client_id than the configured one")
		}
		if f := k.stepUp(ctx, s, *e, need); f != nil {
			return Token{}, f
		}
		now := k.opt.Now()
		rejected := need.Rejected == e.Access
		dead := rejected || expired(*e, now)
		switch {
		case !rejected && !due(*e, now):
			return token(*e), nil
		case rejected && !expired(*e, now) && fresh(*e, now):
			return Token{}, needsLogin(s, "the server refuses a token that was issued just now"+said(need.Challenge))
		case e.Refused != "" && dead:
			return Token{}, needsLogin(s, e.Refused)
		case e.Refresh == "" && rejected:
			return Token{}, needsLogin(s, "the server refuses the token, and it cannot be refreshed"+said(need.Challenge))
		case e.Refresh == "" && dead:
			return Token{}, needsLogin(s, "it expired "+e.Expiry.Local().Format(time.DateTime)+" and cannot be refreshed")
		case e.Refused != "" || e.Refresh == "":
			return token(*e), nil // to its end
		}
		got, err := k.refresh(ctx, s, *e)
		if err == nil && got.Access != need.Rejected {
			return token(got), nil // even if it has expired already: there is no younger one
		}
		if err == nil {
			continue
		}
		if !dead {
			k.opt.Log.Warn("a token could not be refreshed ahead of its end", "server", s.Server, "error", err)
			return token(*e), nil
		}
		return Token{}, err
	}
	return Token{}, needsLogin(s, "the server refuses every token that it gets"+said(need.Challenge))
}

// credential returns what is stored for a server, nil when there is nothing.
func (k *Keeper) credential(s Settings) (*store.Credential, error) {
	c, err := k.store.Read()
	if err != nil {
		return nil, unusable(err)
	}
	e := c.Credential(s.endpoint(), s.Issuer)
	if e == nil {
		return nil, nil
	}
	found := *e
	k.mu.Lock()
	if u, ok := k.unsaved[flightKey(found)]; ok && u.Obtained.After(found.Obtained) {
		found = u.Credential
	}
	k.mu.Unlock()
	k.tell(found.Access, found.Refresh, found.Client.Secret)
	return &found, nil
}

// stepUp is the failure for a token that lacks scopes, which only a person can
// grant. They are remembered, so that the next login asks for them.
func (k *Keeper) stepUp(ctx context.Context, s Settings, e store.Credential, need Need) error {
	wanted := need.Scopes
	b := challenge.Parse(need.Challenge)
	current := need.Rejected == "" || need.Rejected == e.Access
	if b.InsufficientScope() && current {
		wanted = union(wanted, discovery.Words(b.Scopes))
	}
	lacking := without(wanted, e.Scopes)
	switch {
	case len(lacking) > 0 && (len(e.Scopes) > 0 || b.InsufficientScope()):
		if len(without(lacking, e.Wanted)) > 0 {
			err := k.store.Change(ctx, func(c *store.Contents) error {
				if now := c.Credential(e.Endpoint, e.Issuer); now != nil {
					now.Wanted = union(now.Wanted, lacking)
					now.Wanted = now.Wanted[:min(len(now.Wanted), maxWanted)]
				}
				return nil
			})
			if err != nil {
				k.opt.Log.Warn("scopes could not be remembered for the next login", "server", s.Server, "error", err)
			}
		}
		return needsLogin(s, "the server wants the scope "+list(lacking)+", which the stored one does not have; a new login asks for it too")
	case b.InsufficientScope() && current && need.Rejected != "":
		return needsLogin(s, "the server says that the token lacks scopes"+said(need.Challenge)+", although it has those that it names")
	}
	return nil
}

func token(e store.Credential) Token {
	return Token{Value: e.Access, Scheme: "Bearer", Expiry: e.Expiry}
}

// expired says whether a token is of no use any more.
func expired(e store.Credential, now time.Time) bool {
	return !e.Expiry.IsZero() && !now.Before(e.Expiry)
}

// due says whether a token should be refreshed before it is used. One of unknown
// lifetime is used until it is refused.
func due(e store.Credential, now time.Time) bool {
	if e.Expiry.IsZero() {
		return false
	}
	lead := min(maxLead, e.Expiry.Sub(e.Obtained)/leadShare)
	return !now.Before(e.Expiry.Add(-lead)) || now.Before(e.Obtained.Add(-maxSkew))
}

// fresh says whether a token was issued a moment ago.
func fresh(e store.Credential, now time.Time) bool {
	age := now.Sub(e.Obtained)
	return age < justIssued && age > -justIssued
}

// said is what a challenge says for a person, in brackets.
func said(header string) string {
	b := challenge.Parse(header)
	text := b.Description
	if text == "" {
		text = b.Error
	}
	if text == "" {
		return ""
	}
	const most = 200
	return " (" + list([]string{text[:min(len(text), most)]}) + ")"
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
