package oidc

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/go-jose/go-jose/v4/jwt"
)

// claims are what a token says.
type claims struct {
	jwt.Claims
	all map[string]json.RawMessage
}

// longestID bounds what a claim can put into logs and maps.
const longestID = 256

// principal returns who the claims are about, if they count here and now.
func (i *Issuer) principal(c *claims) (*guard.Principal, error) {
	if c.Expiry == nil {
		return nil, refuse(guard.BadClaims, "The token has no exp, so it would count forever.")
	}
	err := c.ValidateWithLeeway(jwt.Expected{Issuer: i.opt.Issuer, AnyAudience: i.opt.Audiences, Time: time.Now()}, i.opt.Skew)
	switch {
	case err == nil:
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return nil, refuse(guard.BadIssuer, "The token is of another authorization server.")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return nil, refuse(guard.BadAudience, "The token was made for another resource (aud).")
	case errors.Is(err, jwt.ErrExpired):
		return nil, refuse(guard.Expired, "The token has expired.")
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return nil, refuse(guard.NotYetValid, "The token does not count yet; when it should, the clocks of issuer and server differ.")
	default:
		return nil, refuse(guard.BadClaims, "The token's claims are not as RFC 7519 has them.")
	}
	var id string
	if json.Unmarshal(c.all[i.opt.IDClaim], &id) != nil || id == "" || len(id) > longestID || strings.ContainsFunc(id, unicode.IsControl) {
		return nil, refuse(guard.BadClaims, "The token does not say whose it is: its claim %s is no text of 1 to %d bytes.", i.opt.IDClaim, longestID)
	}
	grants, err := i.grants(c.scopes())
	if err != nil {
		return nil, err
	}
	// An issuer's URL holds no "|": no two issuers' principals are the same.
	return &guard.Principal{ID: "oidc:" + i.opt.Issuer + "|" + id, Grants: grants, Expires: c.Expiry.Time()}, nil
}

// grants returns what the scopes allow.
func (i *Issuer) grants(has []string) ([]guard.Grant, error) {
	for _, scope := range i.opt.Scopes {
		if !slices.Contains(has, scope) {
			return nil, &guard.Refusal{Reason: guard.BadScope, Message: "The token lacks a scope that is needed here.", Scopes: i.opt.Scopes}
		}
	}
	if len(i.opt.Grants) == 0 {
		return []guard.Grant{guard.All}, nil
	}
	var grants []guard.Grant
	for _, scope := range sorted(i.opt.Grants) {
		if slices.Contains(has, scope) {
			grants = append(grants, i.opt.Grants[scope])
		}
	}
	if len(grants) == 0 {
		return nil, &guard.Refusal{Reason: guard.BadScope, Message: "The token has none of the scopes that allow something here.",
			Scopes: slices.Concat(i.opt.Scopes, sorted(i.opt.Grants))}
	}
	return grants, nil
}

// scopes are those of "scope" (RFC 9068 section 2.2.3) or of "scp", which Microsoft's
// issuers write as text and Okta's as a list.
func (c *claims) scopes() []string {
	for _, name := range []string{"scope", "scp"} {
		var text string
		if json.Unmarshal(c.all[name], &text) == nil && text != "" {
			return strings.Fields(text)
		}
		var list []string
		if json.Unmarshal(c.all[name], &list) == nil && len(list) > 0 {
			return list
		}
	}
	return nil
}
