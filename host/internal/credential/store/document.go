// Package store keeps credentials between runs, in one file of mode 0600 that is
// replaced as a whole. Where the system has a keyring, the file is sealed with a key
// that the keyring holds; its own entries are too small for tokens.
//
// Processes may use it at once. It never asks a server for anything, judges no
// token, and never writes over a file that it cannot read.
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// version is that of the format. A file of another version is neither read nor
// written.
const version = 1

// Where a client's identity comes from.
const (
	Configured = "configured" // the user's own, in mcp.toml
	Document   = "document"   // the URL of a client metadata document
	Dynamic    = "dynamic"    // registered with the authorization server (RFC 7591)
)

// Client is an identity at an authorization server.
type Client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"` // of Dynamic; a configured one stays where it is configured
	Method string `json:"method"`           // how it shows itself: "none", "client_secret_basic", "client_secret_post"
	Source string `json:"source"`
}

// Registration is a client that was registered with an issuer.
type Registration struct {
	Issuer      string    `json:"issuer"`
	RedirectURI string    `json:"redirect_uri"`
	Expires     time.Time `json:"expires,omitzero"`  // of its secret; zero is never
	Refused     bool      `json:"refused,omitempty"` // the issuer does not know it any more
	Client
}

// Credential is what one login, for one resource at one issuer, has come to.
type Credential struct {
	Endpoint string `json:"endpoint"` // canonical URL of the server that it is for
	Resource string `json:"resource"` // its identifier in requests for tokens
	Issuer   string `json:"issuer"`

	TokenEndpoint      string `json:"token_endpoint"`
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`
	Client             Client `json:"client"`

	Access   string    `json:"access_token,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"` // granted
	Wanted   []string  `json:"wanted,omitempty"` // what the server asked for since
	Obtained time.Time `json:"obtained"`         // of the tokens
	Expiry   time.Time `json:"expiry,omitzero"`  // of the access token; zero is unknown

	// Refused is why the authorization server will not refresh it any more; "" as
	// long as it may.
	Refused string `json:"refused,omitempty"`
}

// Contents are all that a store holds.
type Contents struct {
	Registrations []Registration `json:"registrations,omitempty"`
	Credentials   []Credential   `json:"credentials,omitempty"`
}

// Credential returns the one for an endpoint and issuer, or with "" for the
// endpoint and the issuer of its latest login; nil when there is none. It may be
// changed in place.
func (c *Contents) Credential(endpoint, issuer string) *Credential {
	var found *Credential
	for i := range c.Credentials {
		e := &c.Credentials[i]
		if e.Endpoint == endpoint && (issuer == "" || e.Issuer == issuer) && (found == nil || e.Obtained.After(found.Obtained)) {
			found = e
		}
	}
	return found
}

// Put adds a credential in place of the one for its endpoint and issuer.
func (c *Contents) Put(e Credential) {
	if old := c.Credential(e.Endpoint, e.Issuer); old != nil {
		*old = e
		return
	}
	c.Credentials = append(c.Credentials, e)
}

// Remove forgets the credential for an endpoint and issuer, and the registration
// that no other credential uses.
func (c *Contents) Remove(endpoint, issuer string) {
	c.Credentials = slices.DeleteFunc(c.Credentials, func(e Credential) bool { return e.Endpoint == endpoint && e.Issuer == issuer })
	if !slices.ContainsFunc(c.Credentials, func(e Credential) bool { return e.Issuer == issuer }) {
		c.Registrations = slices.DeleteFunc(c.Registrations, func(r Registration) bool { return r.Issuer == issuer })
	}
}

// Registration returns the one with an issuer, nil when there is none.
func (c *Contents) Registration(issuer string) *Registration {
	for i := range c.Registrations {
		if c.Registrations[i].Issuer == issuer {
			return &c.Registrations[i]
		}
	}
	return nil
}

// Register adds a registration in place of the one with its issuer.
func (c *Contents) Register(r Registration) {
	if old := c.Registration(r.Issuer); old != nil {
		*old = r
		return
	}
	c.Registrations = append(c.Registrations, r)
}

// file is the form on disk: the contents, or the contents sealed.
type file struct {
	Version int    `json:"version"`
	Sealed  []byte `json:"sealed,omitempty"` // nonce and AES-256-GCM of the contents as JSON
	*Contents
}

func parse(data []byte) (file, error) {
	// A later version may mean other things by the same words.
	var head struct {
		Version *int `json:"version"`
	}
	switch err := json.Unmarshal(data, &head); {
	case err != nil:
		return file{}, fmt.Errorf("it is damaged: %w", redact(err))
	case head.Version == nil:
		return file{}, errors.New("it is damaged: it has no version")
	case *head.Version != version:
		return file{}, fmt.Errorf("it has version %d, and this collet knows version %d", *head.Version, version)
	}
	f := file{Contents: &Contents{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return file{}, fmt.Errorf("it is damaged: %w", redact(err))
	}
	return f, nil
}

// redact keeps what a decoder quotes of its input out of messages.
func redact(err error) error {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no JSON at byte %d", s.Offset)
	}
	if u, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s has the wrong type", u.Field)
	}
	return errors.New("its JSON is of another form")
}

func encode(f file) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(f)
	return b.Bytes(), err
}
