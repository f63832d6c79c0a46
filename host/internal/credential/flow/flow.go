// Package flow is the part of an authorization that goes through a browser: the URL
// a person is sent to, and what comes back (RFC 6749 section 4.1, RFC 7636, RFC 9207).
//
// It opens nothing, listens nowhere and exchanges no code.
package flow

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// maxCallback bounds what comes back, in bytes; a code has a few hundred.
const maxCallback = 32 << 10

// Flow is one authorization under way.
type Flow struct {
	URL         string // where the person is sent; https, or http on this machine
	RedirectURI string // the same string for the token endpoint
	Verifier    string // PKCE's, for the token endpoint

	state  string
	issuer string // as the server's metadata has it, recorded before anybody is sent anywhere
	named  bool   // the server says that it names itself in its answers
}

// Begin makes the request of one client for scopes of a resource. It refuses a
// server that does not say that it knows S256 (MCP 2025-11-25, Authorization Code
// Protection).
func Begin(s discovery.Server, clientID, redirectURI string, scopes []string, resource string) (*Flow, error) {
	switch {
	case s.AuthorizationEndpoint == "":
		return nil, fmt.Errorf("the authorization server %s has no authorization_endpoint: nobody can log in there with a browser", fetch.Show(s.Issuer))
	case !s.PKCE:
		return nil, fmt.Errorf("the authorization server %s does not say that it supports PKCE with S256 (code_challenge_methods_supported), without which a code could be stolen; MCP clients have to refuse it", fetch.Show(s.Issuer))
	}
	endpoint, err := fetch.Endpoint(s.AuthorizationEndpoint)
	if err != nil {
		return nil, fmt.Errorf("the authorization_endpoint %w", err)
	}
	// Escaped anew: nothing is in it but what a URL may have.
	endpoint.Fragment, endpoint.RawFragment, endpoint.RawQuery = "", "", endpoint.Query().Encode()
	f := &Flow{RedirectURI: redirectURI, Verifier: oauth2.GenerateVerifier(), state: rand.Text(), issuer: s.Issuer, named: s.ResponseIssuer}
	c := oauth2.Config{ClientID: clientID, RedirectURL: redirectURI, Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: endpoint.String()}}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("resource", resource)}
	if slices.Contains(scopes, "offline_access") {
		// OpenID Connect Core section 11: without consent there may be no refresh token.
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	f.URL = c.AuthCodeURL(f.state, options...)
	return f, nil
}

// Denied is the error that an authorization server sent a person back with.
type Denied struct{ Code, Description string }

func (d *Denied) Error() string {
	text := fmt.Sprintf("the authorization server refused: %q", short(d.Code))
	if d.Description != "" {
		text += fmt.Sprintf(": %q", short(d.Description))
	}
	return text
}

// Code returns the authorization code of a callback: the URL that the browser was
// sent back to, or its query alone. Nothing in it counts, the error it may tell of
// included, before its state and its issuer are this flow's.
func (f *Flow) Code(callback string) (string, error) {
	v, err := parameters(callback)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(v.Get("state")), []byte(f.state)) != 1 {
		return "", errors.New("the URL that came back is not the answer to this login (its state is another one): finish the login that was opened last, or begin again")
	}
	// RFC 9207 section 2.4, by simple string comparison, as MCP 2026-07-28 has it.
	switch iss, present := v["iss"]; {
	case present && iss[0] != f.issuer:
		return "", fmt.Errorf("the answer comes from the authorization server %q, not from %s: somebody may be mixing up logins", short(iss[0]), fetch.Show(f.issuer))
	case !present && f.named:
		return "", fmt.Errorf("the answer does not name the authorization server, as %s says it does in every answer (RFC 9207)", fetch.Show(f.issuer))
	}
	if code := v.Get("error"); code != "" {
		return "", &Denied{Code: code, Description: v.Get("error_description")}
	}
	code := v.Get("code")
	if code == "" {
		return "", errors.New("the URL that came back has no code in it")
	}
	return code, nil
}

func parameters(callback string) (url.Values, error) {
	unreadable := errors.New("what came back is no URL with an answer in it")
	callback = strings.TrimSpace(callback)
	if len(callback) > maxCallback {
		return nil, unreadable
	}
	query := strings.TrimPrefix(callback, "?")
	if strings.Contains(callback, "://") && !strings.HasPrefix(callback, "?") || strings.HasPrefix(callback, "/") {
		u, err := url.Parse(callback)
		if err != nil {
			return nil, unreadable
		}
		query = u.RawQuery
	}
	v, err := url.ParseQuery(query)
	if err != nil {
		return nil, unreadable
	}
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(v[name]) > 1 { // RFC 6749 section 3.1
			return nil, fmt.Errorf("the URL that came back has more than one %s in it", name)
		}
	}
	return v, nil
}

func short(s string) string { return s[:min(len(s), 300)] }
