// Package register finds the identity with which this client shows itself to an
// authorization server: the one that the user configured, the URL of a metadata
// document, one that was registered before, or one that it registers (RFC 7591), in
// that order.
//
// It keeps nothing and asks for no token.
package register

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/fetch"
	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/host/internal/credential/store"
)

// Identity is what the user configured of it.
type Identity struct {
	ClientID, Secret string // pre-registered; "" is none
	DocumentURL      string // of a client metadata document; "" is none
	Version          string // of this program
}

// Choose returns the client for an authorization server. known is the registration
// of before, nil when there is none; registered is the new one when one was made.
func Choose(ctx context.Context, p grant.Poster, s discovery.Server, id Identity, redirectURI string, known *store.Registration, now time.Time) (c store.Client, registered *store.Registration, err error) {
	switch {
	case id.ClientID != "":
		c := store.Client{ID: id.ClientID, Method: "none", Source: store.Configured}
		if id.Secret != "" {
			c.Method = secretMethod(s.AuthMethods)
		}
		return c, nil, nil
	case s.ClientDocuments && id.DocumentURL != "":
		return store.Client{ID: id.DocumentURL, Method: "none", Source: store.Document}, nil, nil
	case Usable(known, redirectURI, now):
		return known.Client, nil, nil
	case s.RegistrationEndpoint == "":
		return store.Client{}, nil, fmt.Errorf("the authorization server %s registers no clients by itself: register one there by hand, with the redirect URI %s, and put its client_id into the server's oauth settings", fetch.Show(s.Issuer), redirectURI)
	}
	r, err := dynamic(ctx, p, s, id.Version, redirectURI, now)
	if err != nil {
		return store.Client{}, nil, fmt.Errorf("register with the authorization server %s: %w; a client that was registered there by hand can be named with client_id in the server's oauth settings", fetch.Show(s.Issuer), err)
	}
	return r.Client, &r, nil
}

// Usable says whether a registration still serves for a redirect URI.
func Usable(r *store.Registration, redirectURI string, now time.Time) bool {
	return r != nil && !r.Refused && r.RedirectURI == redirectURI && (r.Expires.IsZero() || now.Before(r.Expires))
}

// secretMethod is how a secret is shown where the server does not know the client
// any closer. RFC 8414 section 2: without a list it is the header.
func secretMethod(supported []string) string {
	if supported == nil || slices.Contains(supported, "client_secret_basic") || !slices.Contains(supported, "client_secret_post") {
		return "client_secret_basic"
	}
	return "client_secret_post"
}

// request is what a program of a person's own machine registers.
type request struct {
	Name            string   `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	Method          string   `json:"token_endpoint_auth_method"`
	ApplicationType string   `json:"application_type"` // "native": loopback redirects (MCP 2026-07-28)
	SoftwareID      string   `json:"software_id"`
	Version         string   `json:"software_version,omitempty"`
}

func dynamic(ctx context.Context, p grant.Poster, s discovery.Server, version, redirectURI string, now time.Time) (store.Registration, error) {
	method := "none"
	if s.AuthMethods != nil && !slices.Contains(s.AuthMethods, "none") {
		method = secretMethod(s.AuthMethods)
	}
	body, err := json.Marshal(request{
		Name: "collet", RedirectURIs: []string{redirectURI}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, Method: method, ApplicationType: applicationType(redirectURI), SoftwareID: "collet", Version: version,
	})
	if err != nil {
		return store.Registration{}, err
	}
	a, err := p.Post(ctx, s.RegistrationEndpoint, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}, string(body))
	if err != nil {
		return store.Registration{}, err
	}
	r, err := read(a, method, now)
	r.Issuer, r.RedirectURI = s.Issuer, redirectURI
	return r, err
}

func applicationType(redirectURI string) string {
	if u, err := url.Parse(redirectURI); err == nil && u.Scheme == "https" {
		return "web"
	}
	return "native"
}

// maxID bounds what an authorization server calls a client, in bytes.
const maxID = 4 << 10

// read is the client in an answer of the registration endpoint (RFC 7591 section
// 3.2). method is what was asked for, and the server may decide on another.
func read(a *fetch.Answer, method string, now time.Time) (store.Registration, error) {
	var doc struct {
		ID      string      `json:"client_id"`
		Secret  string      `json:"client_secret"`
		Expires json.Number `json:"client_secret_expires_at"`
		Method  string      `json:"token_endpoint_auth_method"`

		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	err := json.Unmarshal(a.Body, &doc)
	if a.Status/100 != 2 || err == nil && doc.Error != "" {
		r := &grant.Refused{Status: a.Status}
		if err == nil {
			r.Code, r.Description = doc.Error, doc.Description
		}
		return store.Registration{}, r
	}
	if err != nil || doc.ID == "" || len(doc.ID) > maxID || len(doc.Secret) > maxID {
		return store.Registration{}, errors.New("the answer has no client_id that could be used")
	}
	if doc.Method == "" {
		doc.Method = method
		if doc.Secret != "" && method == "none" {
			doc.Method = "client_secret_basic" // RFC 7591 section 2: the default
		}
	}
	if doc.Secret == "" {
		doc.Method = "none"
	}
	r := store.Registration{Client: store.Client{ID: doc.ID, Secret: doc.Secret, Method: doc.Method, Source: store.Dynamic}}
	if at, err := doc.Expires.Int64(); err == nil && at > 0 {
		if r.Expires = time.Unix(at, 0).UTC(); r.Expires.Before(now) {
			r.Expires = time.Time{} // it was issued just now, so that one of the clocks is wrong
		}
	}
	return r, nil
}
