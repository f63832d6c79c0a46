// Package grant asks an authorization server for tokens (RFC 6749 sections 4 to 6,
// RFC 8628), and gives them back (RFC 7009).
//
// It keeps nothing, repeats nothing but the question whether a device was allowed,
// and never quotes an answer, which may hold a token.
package grant

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// Poster sends a form. *fetch.Client is one.
type Poster interface {
	Post(ctx context.Context, url string, header http.Header, body string) (*fetch.Answer, error)
}

// Endpoint is an authorization server's endpoint and how a client shows itself
// there.
type Endpoint struct {
	URL string
	// ClientID and Secret go as Method says: "client_secret_basic",
	// "client_secret_post", or "none" and "" for a client without a secret.
	ClientID, Secret, Method string
}

// Tokens is what a server issued.
type Tokens struct {
	Access  string
	Refresh string   // "" when it gave none
	Scopes  []string // nil when it does not say: those that were asked for
	// Lifetime counts from when it was issued, and Known says whether the server gave
	// it. A known lifetime of 0 has expired.
	Lifetime time.Duration
	Known    bool
}

// Refused is an error in the words of RFC 6749 section 5.2.
type Refused struct {
	Status      int
	Code        string // "invalid_grant"; "" when the server gave none
	Description string // a stranger's words
	RetryAfter  time.Duration
}

func (r *Refused) Error() string {
	text := fmt.Sprintf("the authorization server answered with status %d", r.Status)
	if r.Code != "" {
		text += fmt.Sprintf(", %q", short(r.Code))
	}
	if r.Description != "" {
		text += fmt.Sprintf(": %q", short(r.Description))
	}
	return text
}

// Final says whether asking again cannot help.
func (r *Refused) Final() bool {
	return r.Code != "" && r.Code != "temporarily_unavailable" && r.Code != "server_error" && r.Code != "slow_down" && r.Status < 500 && r.Status != http.StatusTooManyRequests
}

// Code exchanges an authorization code (RFC 6749 section 4.1.3, RFC 7636).
func Code(ctx context.Context, p Poster, e Endpoint, code, redirectURI, verifier, resource string) (Tokens, error) {
	return exchange(ctx, p, e, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "code_verifier": {verifier}, "resource": {resource},
	})
}

// Refresh uses a refresh token (RFC 6749 section 6). Without a new one in the
// answer, the one that was used stays.
func Refresh(ctx context.Context, p Poster, e Endpoint, refresh, resource string) (Tokens, error) {
	t, err := exchange(ctx, p, e, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "resource": {resource}})
	if err == nil && t.Refresh == "" {
		t.Refresh = refresh
	}
	return t, err
}

// Credentials asks with the client's own secret (RFC 6749 section 4.4).
func Credentials(ctx context.Context, p Poster, e Endpoint, scopes []string, resource string) (Tokens, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	return exchange(ctx, p, e, form)
}

// Revoke gives a token back (RFC 7009); hint is "refresh_token" or "access_token".
func Revoke(ctx context.Context, p Poster, e Endpoint, token, hint string) error {
	a, err := post(ctx, p, e, url.Values{"token": {token}, "token_type_hint": {hint}})
	if err == nil && a.Status/100 != 2 {
		err = refused(a)
	}
	return err
}

func exchange(ctx context.Context, p Poster, e Endpoint, form url.Values) (Tokens, error) {
	a, err := post(ctx, p, e, form)
	if err != nil {
		return Tokens{}, err
	}
	return Read(a)
}

func post(ctx context.Context, p Poster, e Endpoint, form url.Values) (*fetch.Answer, error) {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	switch e.Method {
	case "client_secret_basic":
		// Encoded first: RFC 6749 section 2.3.1.
		pair := url.QueryEscape(e.ClientID) + ":" + url.QueryEscape(e.Secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case "client_secret_post":
		form.Set("client_id", e.ClientID)
		form.Set("client_secret", e.Secret)
	case "none", "":
		form.Set("client_id", e.ClientID)
	default:
		return nil, fmt.Errorf("the authorization server wants clients to show themselves by %q, which is not known here", short(e.Method))
	}
	a, err := p.Post(ctx, e.URL, header, form.Encode())
	if err != nil {
		return nil, fmt.Errorf("POST %s: %w", fetch.Show(e.URL), err)
	}
	return a, nil
}

func short(s string) string { return s[:min(len(s), 300)] }
