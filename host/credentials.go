package host

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/adrg/xdg"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// CredentialState is what is known of a server's credential without asking anybody.
type CredentialState = credential.State

// The states of credentials.
const (
	LoggedOut  = credential.LoggedOut
	LoggedIn   = credential.LoggedIn
	NeedsLogin = credential.NeedsLogin
)

// CredentialStatus is a server's credential without its secrets.
type CredentialStatus = credential.Status

// Credential is a server's credential, and whether the server has an oauth table: one
// that has none is logged out for as long as it does not ask for tokens.
type Credential struct {
	CredentialStatus
	Configured bool
}

// Wants reports whether a person has to log in before the server can be used.
func (c Credential) Wants() bool {
	return c.State == NeedsLogin || c.State == LoggedOut && c.Configured && !c.Refreshable
}

// Browser is the person who logs in, and whatever stands between; Redirect and
// DeviceCode are what it is told.
type (
	Browser    = credential.Browser
	Redirect   = credential.Redirect
	DeviceCode = credential.DeviceCode
)

// openCredentials opens what keeps the tokens of all servers.
func (h *Host) openCredentials() *credential.Keeper {
	return credential.Open(credential.Options{
		Path: h.credentialFile(),
		Log:  h.opt.Log, Version: h.opt.Version,
		Secret: func(value string) { h.secrets.AddToken("token", value) },
	})
}

func (h *Host) credentialFile() string {
	return cmp.Or(h.opt.CredentialFile, filepath.Join(xdg.ConfigHome, "collet", "credentials.json"))
}

// Login logs in to a server: a person with b, or, for grants that need none, nobody.
// The error is a *Failure.
func (h *Host) Login(ctx context.Context, server string, b Browser) (CredentialStatus, error) {
	s, err := h.credentialOf(ctx, server, h.values)
	if err != nil {
		return CredentialStatus{}, err
	}
	st, err := h.credentials.Login(ctx, *s, credential.Need{}, b)
	return st, h.credentialFailure(server, err)
}

// Logout forgets a server's credential and gives its tokens back where that is
// possible. The error is a *Failure; one of class server-error says that the credential
// was forgotten and that its tokens could not be given back.
func (h *Host) Logout(ctx context.Context, server string) error {
	s, err := h.credentialOf(ctx, server, h.values)
	if err != nil {
		return err
	}
	return h.credentialFailure(server, h.credentials.Logout(ctx, *s))
}

// Credential says what is known of a server's credential. It asks nobody and runs no
// command. The error is a *Failure; of class not-found when there is no such server, or
// nothing that tokens could be for.
func (h *Host) Credential(ctx context.Context, server string) (Credential, error) {
	values := h.values
	values.Command = func(context.Context, string, string) (string, error) { return "", nil }
	values.Keyring = func(context.Context, string, string) (string, error) { return "", nil }
	s, err := h.credentialOf(ctx, server, values)
	if err != nil {
		return Credential{}, err
	}
	if s.Grant == credential.ClientCredentials && s.ClientSecret == "" {
		s.ClientSecret = "unknown" // a command's, which is not run for this
	}
	st, err := h.credentials.Status(ctx, *s)
	set := h.hub.Config().Server(server)
	return Credential{st, set != nil && set.OAuth != nil}, h.credentialFailure(server, err)
}

// credentialOf is how a server gets its tokens.
func (h *Host) credentialOf(ctx context.Context, name string, values config.Resolver) (*credential.Settings, error) {
	set := h.hub.Config().Server(name)
	if set == nil {
		if p, ok := h.hub.Broken(name); ok {
			f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", p.Error())
			return nil, &Failure{Server: name, Failure: *f, Misconfigured: true}
		}
		return nil, ofServer(name, h.hub.NoServer(name))
	}
	misconfigured := func(err error) error {
		f := failure.New(failure.InvalidArguments, failure.NotSent, "%w", err)
		return &Failure{Server: name, Failure: *f, Misconfigured: true}
	}
	res, _, err := set.ResolveOAuth(ctx, values)
	if err != nil {
		return nil, misconfigured(err)
	}
	s, err := server.TokenSettings(set, res)
	switch {
	case err != nil:
		return nil, misconfigured(fmt.Errorf("the oauth table (%s:%d): %w", set.File, set.Line, err))
	case s == nil && set.URL != "":
		return nil, noCredential(name, "it sends a credential of its own, or its url is not https (%s:%d)", set.File, set.Line)
	case s == nil:
		return nil, noCredential(name, "there is nothing to log in to: the entry has neither a url nor an oauth table (%s:%d)", set.File, set.Line)
	}
	return s, nil
}

func noCredential(name, format string, args ...any) error {
	return &Failure{Server: name, Failure: *failure.New(failure.NotFound, failure.NotSent, format, args...)}
}

func (h *Host) credentialFailure(name string, err error) error {
	if err == nil {
		return nil
	}
	f := *failure.Classify(err)
	f.Message = h.secrets.Text(f.Message)
	return &Failure{Server: name, Failure: f, Misconfigured: f.Class == failure.InvalidArguments, Remote: true}
}
