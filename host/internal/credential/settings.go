package credential

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// Grant says how a server's tokens come about.
type Grant string

// The grants.
const (
	AuthorizationCode Grant = "authorization_code" // a person, in a browser; the default
	Device            Grant = "device_code"        // a person, on another device (RFC 8628)
	ClientCredentials Grant = "client_credentials" // the client's own secret, for programs
	Command           Grant = "command"            // a command prints one
)

// Settings say how one server gets its tokens. What they have in common with those
// of another server, they share: a credential belongs to Resource and its issuer.
type Settings struct {
	Server   string // its name in mcp.toml, for messages only
	Resource string // the URL that the tokens are for: https, or http on this machine; any or "" for Command
	Issuer   string // the authorization server; "" is what the resource says

	ClientID, ClientSecret string // a client that was registered by hand; "" is none
	// ClientMetadataURL is the https URL of this program's client metadata document,
	// which is its client_id where the authorization server reads such; "" is none.
	ClientMetadataURL string
	// Scopes are asked for instead of those that the resource says it supports, and
	// besides those that the server asks for when it refuses a request.
	Scopes []string

	Grant   Grant  // "" is AuthorizationCode
	Command string // for Grant Command: see docs/credentials.md

	RedirectHost string // "127.0.0.1" or "localhost"; "" is the first
	RedirectPort int    // 0 is any that is free

	CAFile string // PEM, of authorities that count besides the system's; "" is none
}

func (s Settings) grant() Grant {
	if s.Grant == "" {
		return AuthorizationCode
	}
	return s.Grant
}

// Check says what is wrong with settings, without the server's name. It sends
// nothing and reads no file.
func (s Settings) Check() error {
	g := s.grant()
	if !slices.Contains([]Grant{AuthorizationCode, Device, ClientCredentials, Command}, g) {
		return fmt.Errorf("grant %q is none of authorization_code, device_code, client_credentials, command", string(g))
	}
	if g == Command {
		if s.Command == "" {
			return errors.New("the grant command needs a command that prints the token")
		}
		return nil
	}
	if s.Command != "" {
		return fmt.Errorf("a command is for the grant command only, not for %s", g)
	}
	if s.Resource == "" {
		return errors.New("it needs the URL of the resource that the tokens are for")
	}
	if _, err := fetch.Endpoint(s.Resource); err != nil {
		return fmt.Errorf("the URL of the resource %w; a token would be readable on its way", err)
	}
	if s.Issuer != "" {
		if _, err := fetch.Endpoint(s.Issuer); err != nil {
			return fmt.Errorf("the issuer %w", err)
		}
	}
	switch {
	case g == ClientCredentials && (s.ClientID == "" || s.ClientSecret == ""):
		return errors.New("the grant client_credentials needs client_id and client_secret")
	case s.ClientSecret != "" && s.ClientID == "":
		return errors.New("a client_secret needs its client_id")
	case s.RedirectHost != "" && s.RedirectHost != "127.0.0.1" && s.RedirectHost != "localhost":
		return fmt.Errorf("the redirect host %q is neither 127.0.0.1 nor localhost", s.RedirectHost)
	case s.RedirectPort < 0 || s.RedirectPort > 65535:
		return fmt.Errorf("the redirect port %d is none", s.RedirectPort)
	}
	if s.ClientMetadataURL != "" {
		if u, err := url.Parse(s.ClientMetadataURL); err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" || u.Path == "/" {
			return errors.New("the URL of the client metadata document must be https with a path")
		}
	}
	return nil
}

// endpoint is what a credential is kept for.
func (s Settings) endpoint() string {
	u, err := fetch.Endpoint(s.Resource)
	if err != nil {
		return ""
	}
	return discovery.Canonical(u)
}
