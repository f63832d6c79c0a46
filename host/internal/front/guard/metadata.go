package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const wellKnown = "/.well-known/oauth-protected-resource" // RFC 9728 section 3

// metadata is what clients without a token are told: which authorization servers
// give tokens for this resource (RFC 9728). It is public and says nothing of what
// the resource holds.
type metadata struct {
	origin   string // of the resource, "" when it is the address of the connection
	path     string // of the resource, as clients see it
	endpoint string
	issuers  []string
	scopes   []string
}

func newMetadata(opt Options) (metadata, error) {
	m := metadata{path: opt.Endpoint, endpoint: opt.Endpoint, issuers: opt.Issuers, scopes: opt.Scopes}
	if !strings.HasPrefix(opt.Endpoint, "/") {
		return m, fmt.Errorf("the endpoint %q does not begin with a slash", opt.Endpoint)
	}
	for _, s := range opt.Scopes {
		if !CanBeSent(s) || strings.ContainsAny(s, `"\`) {
			return m, fmt.Errorf("%q is no scope: a scope has no spaces, quotes and backslashes (RFC 6749 section 3.3)", s)
		}
	}
	for _, i := range opt.Issuers {
		if u, err := url.Parse(i); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return m, fmt.Errorf("the issuer %q is no URL; write it as the issuer's own metadata has it (https://login.example.com)", i)
		}
	}
	if opt.Resource == "" {
		return m, nil
	}
	u, err := url.Parse(opt.Resource)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return m, fmt.Errorf("the resource %q is no URL of an endpoint; write the one that clients use, without a query (https://mcp.example.com/mcp)", opt.Resource)
	}
	if _, ok := parseSite(u.Host, ""); !ok {
		return m, fmt.Errorf("the resource %q has no host that a client could send", opt.Resource)
	}
	m.origin, m.path = u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	return m, nil
}

// serves reports whether the metadata is asked for. Without an issuer too: 404 is
// how a client learns that there is none.
func (m *metadata) serves(path string) bool {
	return path == wellKnown || path == wellKnown+m.endpoint || path == wellKnown+m.path
}

// url is where the endpoint's metadata is; "" without an issuer.
func (m *metadata) url(r *http.Request) string {
	if len(m.issuers) == 0 {
		return ""
	}
	return m.originOf(r) + wellKnown + m.path
}

// originOf is the resource's origin. The request's Host has been checked by then.
func (m *metadata) originOf(r *http.Request) string {
	switch {
	case m.origin != "":
		return m.origin
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (m *metadata) serve(w http.ResponseWriter, r *http.Request) {
	if len(m.issuers) == 0 {
		http.Error(w, "This server's tokens come from no authorization server.", http.StatusNotFound)
		return
	}
	resource := m.originOf(r) + m.path
	if r.URL.Path == wellKnown && m.path != "" {
		// Section 3.3: clients compare it with what they made this URL from.
		resource = m.originOf(r)
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct { // strings alone: cannot fail
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{resource, slices.Clone(m.issuers), m.scopes, []string{"header"}, "collet"})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(body.Bytes()) // a client that is gone needs no answer
}
