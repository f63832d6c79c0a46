package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// FindServer reads the metadata of the authorization server of a resource: of the
// issuer that is wanted, or with "" of the first one that has any. A server that is
// wanted and not among the resource's own is refused, unless the resource has no
// metadata to say so.
func FindServer(ctx context.Context, get Getter, r Resource, wanted string) (Server, error) {
	issuers := r.Servers
	if wanted != "" {
		if !r.Guessed && !slices.ContainsFunc(issuers, func(i string) bool { return sameIssuer(i, wanted) }) {
			return Server{}, fmt.Errorf("the resource has its tokens from %s, not from the configured issuer %s", strings.Join(shown(issuers), ", "), fetch.Show(wanted))
		}
		issuers = []string{wanted}
	}
	var failed error
	for _, issuer := range issuers {
		s, err := Metadata(ctx, get, issuer)
		if err == nil {
			return s, nil
		}
		if missing := (*Missing)(nil); r.Guessed && wanted == "" && errors.As(err, &missing) {
			return guess(issuer), nil
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return Server{}, failed
}

// guess is the fallback of MCP 2025-03-26, for a server that has no metadata at all.
func guess(origin string) Server {
	return Server{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token",
		RegistrationEndpoint: origin + "/register", PKCE: true, Guessed: true,
	}
}

func shown(urls []string) []string {
	var out []string
	for _, u := range urls {
		out = append(out, fetch.Show(u))
	}
	return out
}

// Metadata reads the metadata of one authorization server.
func Metadata(ctx context.Context, get Getter, issuer string) (Server, error) {
	at, err := fetch.Endpoint(issuer)
	if err != nil {
		return Server{}, fmt.Errorf("the authorization server's URL %w", err)
	}
	if at.RawQuery != "" || at.Fragment != "" {
		return Server{}, fmt.Errorf("the issuer %s has a query or a fragment (RFC 8414 section 2)", fetch.Show(issuer))
	}
	var tried attempts
	for _, place := range serverPlaces(at) {
		body := tried.get(ctx, get, place)
		if ctx.Err() != nil {
			return Server{}, ctx.Err()
		}
		if body == nil {
			continue
		}
		s, err := readServer(body, issuer)
		if err != nil {
			return Server{}, fmt.Errorf("the metadata of the authorization server at %s %w", fetch.Show(place), err)
		}
		return s, nil
	}
	if err := tried.failed("no metadata of the authorization server " + fetch.Show(issuer)); err != nil {
		return Server{}, err
	}
	return Server{}, &Missing{Issuer: issuer, Tried: tried.places}
}

// Missing is the error for an authorization server that has no metadata anywhere.
type Missing struct {
	Issuer string
	Tried  []string
}

func (m *Missing) Error() string {
	return fmt.Sprintf("the authorization server %s has no metadata; tried %s", fetch.Show(m.Issuer), strings.Join(shown(m.Tried), ", "))
}

// serverPlaces are the URLs in the order of MCP 2025-11-25, Authorization Server
// Metadata Discovery.
func serverPlaces(at *url.URL) []string {
	const oauth, oidc = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	origin, path := at.Scheme+"://"+at.Host, strings.TrimRight(at.EscapedPath(), "/")
	if path == "" {
		return []string{origin + oauth, origin + oidc}
	}
	return []string{origin + oauth + path, origin + oidc + path, origin + path + oidc}
}

func readServer(body []byte, issuer string) (Server, error) {
	var doc struct {
		Issuer        string   `json:"issuer"`
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Registration  string   `json:"registration_endpoint"`
		Revocation    string   `json:"revocation_endpoint"`
		Device        string   `json:"device_authorization_endpoint"`
		Scopes        []string `json:"scopes_supported"`
		AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
		Challenges    []string `json:"code_challenge_methods_supported"`
		Documents     bool     `json:"client_id_metadata_document_supported"`
		ResponseIss   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return Server{}, errors.New("cannot be read: it is no JSON of the form that RFC 8414 asks for")
	}
	if !sameIssuer(doc.Issuer, issuer) {
		return Server{}, fmt.Errorf("is of the issuer %q, not of %s", cut(doc.Issuer), fetch.Show(issuer))
	}
	for _, e := range []struct {
		name, url string
		must      bool
	}{
		{"authorization_endpoint", doc.Authorization, false},
		{"token_endpoint", doc.Token, true},
		{"registration_endpoint", doc.Registration, false},
		{"revocation_endpoint", doc.Revocation, false},
		{"device_authorization_endpoint", doc.Device, false},
	} {
		if e.url == "" {
			if e.must {
				return Server{}, fmt.Errorf("has no %s", e.name)
			}
			continue
		}
		if _, err := fetch.Endpoint(e.url); err != nil {
			return Server{}, fmt.Errorf("has a %s that %w", e.name, err)
		}
	}
	return Server{
		Issuer: doc.Issuer, AuthorizationEndpoint: doc.Authorization, TokenEndpoint: doc.Token, RegistrationEndpoint: doc.Registration,
		RevocationEndpoint: doc.Revocation, DeviceEndpoint: doc.Device, Scopes: Words(doc.Scopes), AuthMethods: Words(doc.AuthMethods),
		PKCE: slices.Contains(doc.Challenges, "S256"), ClientDocuments: doc.Documents, ResponseIssuer: doc.ResponseIss,
	}, nil
}

// sameIssuer compares as RFC 8414 section 3.3 says, but for one slash at the end,
// over which metadata and resources in the field disagree.
func sameIssuer(a, b string) bool {
	return a != "" && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// attempts remembers where a document was looked for.
type attempts struct {
	places []string
	first  error // that says more than that nothing is there
}

// get returns a document, or nil when there is none.
func (t *attempts) get(ctx context.Context, get Getter, place string) []byte {
	t.places = append(t.places, place)
	a, err := get.Get(ctx, place)
	switch {
	case err != nil:
		t.keep(fmt.Errorf("GET %s: %w", fetch.Show(place), err))
	case a.Status == 200:
		if body := bytes.TrimLeft(bytes.TrimPrefix(a.Body, []byte("\ufeff")), " \t\r\n"); bytes.HasPrefix(body, []byte("{")) {
			return body
		}
		// Applications answer every path with a page of theirs: nothing is there.
	case a.Status >= 500 || a.Status == 429:
		t.keep(fmt.Errorf("GET %s: status %d", fetch.Show(place), a.Status))
	}
	return nil
}

func (t *attempts) keep(err error) {
	if t.first == nil {
		t.first = err
	}
}

// failed is an error when something else than absence kept a document away.
func (t *attempts) failed(what string) error {
	if t.first == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, t.first)
}
