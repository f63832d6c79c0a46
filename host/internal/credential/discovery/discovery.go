// Package discovery finds out how a protected resource wants to be authorized:
// which authorization servers issue its tokens (RFC 9728) and where those have
// their endpoints (RFC 8414, OpenID Connect Discovery 1.0), as the revisions
// 2025-11-25 and 2026-07-28 of MCP say, with what 2025-03-26 did in front of them.
//
// It registers nothing, asks for no token, and decides nothing on scopes.
package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// Getter reads a document. *fetch.Client is one.
type Getter interface {
	Get(ctx context.Context, url string) (*fetch.Answer, error)
}

// Resource is what is known of a protected resource.
type Resource struct {
	ID      string   // its identifier, which goes into every request for a token (RFC 8707)
	Scopes  []string // scopes_supported; nil when it does not say
	Servers []string // issuers of authorization servers, at least one
	// Guessed: it has no metadata, and its origin is taken for its authorization
	// server, as in 2025-03-26.
	Guessed bool
}

// Server is what is known of an authorization server. Endpoints are https, or http
// on this machine; "" is one that it does not have.
type Server struct {
	Issuer                string
	AuthorizationEndpoint string
	TokenEndpoint         string
	RegistrationEndpoint  string
	RevocationEndpoint    string
	DeviceEndpoint        string
	Scopes                []string // scopes_supported
	AuthMethods           []string // token_endpoint_auth_methods_supported; nil when it does not say
	PKCE                  bool     // it says that it knows S256
	ClientDocuments       bool     // client_id_metadata_document_supported
	ResponseIssuer        bool     // authorization_response_iss_parameter_supported (RFC 9207)
	// Guessed: it has no metadata, and its endpoints are those that 2025-03-26 falls
	// back to.
	Guessed bool
}

const (
	// maxServers and maxList bound what is looked at of a document.
	maxServers = 4
	maxList    = 500
)

// FindResource reads the metadata of the resource at an URL: from where a challenge
// says, at the well-known place for the URL's path, and at that of its origin.
func FindResource(ctx context.Context, get Getter, resource, fromChallenge string) (Resource, error) {
	at, err := fetch.Endpoint(resource)
	if err != nil {
		return Resource{}, fmt.Errorf("the server's URL %w", err)
	}
	var tried attempts
	for _, place := range resourcePlaces(at, fromChallenge) {
		body := tried.get(ctx, get, place)
		if ctx.Err() != nil {
			return Resource{}, ctx.Err()
		}
		if body == nil {
			continue
		}
		r, err := readResource(body, at)
		if err != nil {
			// It spoke for itself: what it says elsewhere counts no more.
			return Resource{}, fmt.Errorf("the resource metadata at %s %w", fetch.Show(place), err)
		}
		return r, nil
	}
	if err := tried.failed("no resource metadata of " + fetch.Show(resource)); err != nil {
		return Resource{}, err
	}
	origin := url.URL{Scheme: at.Scheme, Host: at.Host}
	return Resource{ID: Canonical(at), Servers: []string{origin.String()}, Guessed: true}, nil
}

// resourcePlaces are the URLs of RFC 9728 section 3.1, without repeats.
func resourcePlaces(at *url.URL, fromChallenge string) []string {
	const wellKnown = "/.well-known/oauth-protected-resource"
	var places []string
	if fromChallenge != "" {
		places = append(places, fromChallenge)
	}
	if p := strings.TrimRight(at.EscapedPath(), "/"); p != "" {
		places = append(places, at.Scheme+"://"+at.Host+wellKnown+p)
	}
	places = append(places, at.Scheme+"://"+at.Host+wellKnown)
	return slices.Compact(places)
}

func readResource(body []byte, at *url.URL) (Resource, error) {
	var doc struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return Resource{}, errors.New("cannot be read: it is no JSON of the form that RFC 9728 asks for")
	}
	if !covers(doc.Resource, at) {
		return Resource{}, fmt.Errorf("is of the resource %q, not of %s; a token for it would not be the server's", cut(doc.Resource), fetch.Show(at.String()))
	}
	if len(doc.Servers) == 0 {
		return Resource{}, errors.New("names no authorization server")
	}
	servers := doc.Servers[:min(len(doc.Servers), maxServers)]
	for _, s := range servers {
		if _, err := fetch.Endpoint(s); err != nil {
			return Resource{}, fmt.Errorf("names an authorization server whose URL %w", err)
		}
	}
	return Resource{ID: doc.Resource, Scopes: Words(doc.Scopes), Servers: servers}, nil
}

// covers says whether a resource identifier is that of a server's URL. RFC 9728
// section 3.3 wants it to be the same; servers in the field leave out the slash at
// the end, or name what their path is below. Never another origin.
func covers(id string, at *url.URL) bool {
	u, err := url.Parse(id)
	if err != nil || u.User != nil || u.Fragment != "" || u.Scheme != at.Scheme || hostPort(u) != hostPort(at) {
		return false
	}
	if u.RawQuery != "" && u.RawQuery != at.RawQuery {
		return false
	}
	parent := strings.TrimRight(u.EscapedPath(), "/")
	rest, ok := strings.CutPrefix(at.EscapedPath(), parent)
	return ok && (rest == "" || rest[0] == '/')
}

// Canonical is how a URL is written when it identifies a resource (RFC 8707 section
// 2): without a fragment, scheme and host in lower case, no default port. Its path
// stays as it is.
func Canonical(u *url.URL) string {
	c := *u
	c.Fragment, c.RawFragment, c.User = "", "", nil
	c.Scheme, c.Host = strings.ToLower(c.Scheme), hostPort(u)
	if port := c.Port(); c.Scheme == "https" && port == "443" || c.Scheme == "http" && port == "80" {
		c.Host = strings.TrimSuffix(c.Host, ":"+port)
	}
	return c.String()
}

// hostPort is the host in lower case with its port, the default one included.
func hostPort(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch {
	case u.Port() != "":
		return host
	case u.Scheme == "http":
		return strings.TrimSuffix(host, ":") + ":80"
	default:
		return strings.TrimSuffix(host, ":") + ":443"
	}
}

// Words are the members of a list that can be scopes (RFC 6749 section 3.3), each
// once, at most maxList of them.
func Words(list []string) []string {
	var out []string
	for _, s := range list {
		if len(out) < maxList && s != "" && !strings.ContainsFunc(s, notInScope) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func notInScope(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r >= 0x7f }

// cut is a stranger's text for a sentence.
func cut(s string) string { return s[:min(len(s), 200)] }
