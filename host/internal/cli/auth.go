package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/sdk/failure"
)

// loginWait is how long a person has for a login.
const loginWait = 5 * time.Minute

// authenticator keeps the credentials of servers.
type authenticator interface {
	Login(ctx context.Context, server string, b host.Browser) (host.CredentialStatus, error)
	Logout(ctx context.Context, server string) error
	Credential(ctx context.Context, server string) (host.Credential, error)
}

func newCmdAuth(f *Factory) *cobra.Command {
	return group("auth <command>", "Log in to servers, log out, and show where you are logged in", "  collet auth login github\n  collet auth status",
		newCmdAuthLogin(f, nil), newCmdAuthLogout(f, nil), newCmdAuthStatus(f, nil))
}

type authLoginOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Getenv  func(string) string

	Server           string
	Paste, NoBrowser bool
}

func newCmdAuthLogin(f *Factory, runF func(context.Context, *authLoginOptions) error) *cobra.Command {
	opts := &authLoginOptions{Streams: f.Streams, Host: f.openOwn, Getenv: f.Getenv}
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server with a browser",
		Long: `Log in to a server with a browser. When you have logged in, the browser is sent back to
a port of this machine. A browser on another machine shows an error at that point: copy
the address that it shows, and paste it here. collet uses whichever arrives first.

With grant = "device_code" in the oauth table of mcp.toml, you enter a code on any
device instead. For scripts, use grant = "client_credentials" or token_command, which
need no person.`,
		Example: "  collet auth login github\n  collet auth login github --no-browser",
		Args:    exactly(1, "the server's NAME"),

		ValidArgsFunction: f.complete(completeServer),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Server = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return authLoginRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Paste, "paste", false, "do not open a browser; read the address at which the login ends from stdin, even if that is not a terminal")
	cmd.Flags().BoolVar(&opts.NoBrowser, "no-browser", false, "print the address of the login instead of opening a browser")
	return cmd
}

func authLoginRun(ctx context.Context, opts *authLoginOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	b := &browser{streams: opts.Streams, open: opener(opts.Getenv), paste: opts.Paste || opts.Streams.InTerminal}
	if opts.Paste || opts.NoBrowser {
		b.open = nil
	}
	defer b.close()
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	st, err := h.Login(ctx, opts.Server, b)
	if err != nil {
		return loginFailure(ctx, opts.Streams, opts.Server, err)
	}
	switch {
	case b.used:
		opts.Streams.Note("collet: logged in to %s%s", opts.Server, until(st))
	case st.Grant != "":
		opts.Streams.Note("collet: %s needs no login: its grant is %s, and a token was obtained%s", opts.Server, st.Grant, until(st))
	}
	return nil
}

// loginFailure says that nobody came, where that is why.
func loginFailure(ctx context.Context, s *terminal.Streams, server string, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return exitf(exitTimeout, "log in to %s: nobody logged in within %s", server, loginWait)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	f, ok := errors.AsType[*host.Failure](err)
	if !ok {
		return err
	}
	printFailure(s, f)
	return quiet(failureCode(f))
}

func until(st host.CredentialStatus) string {
	var parts []string
	if st.Store != "" {
		parts = append(parts, "kept in "+visible(st.Store))
	}
	switch {
	case st.Refreshable && st.Store != "":
		parts = append(parts, "renewed automatically")
	case !st.Expiry.IsZero():
		parts = append(parts, "valid until "+st.Expiry.Local().Format(time.DateTime))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

type authLogoutOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Server  string
}

func newCmdAuthLogout(f *Factory, runF func(context.Context, *authLogoutOptions) error) *cobra.Command {
	opts := &authLogoutOptions{Streams: f.Streams, Host: f.openOwn}
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Log out of a server: delete its credential and revoke its tokens",
		Args:  exactly(1, "the server's NAME"),

		ValidArgsFunction: f.complete(completeServer),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Server = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return authLogoutRun(cmd.Context(), opts)
		},
	}
}

func authLogoutRun(ctx context.Context, opts *authLogoutOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	before, err := h.Credential(ctx, opts.Server)
	if err == nil {
		err = h.Logout(ctx, opts.Server)
	}
	if err != nil {
		return loginFailure(ctx, opts.Streams, opts.Server, err)
	}
	if before.State == host.LoggedOut {
		opts.Streams.Note("collet: nobody was logged in to %s", opts.Server)
	} else {
		opts.Streams.Note("collet: logged out of %s", opts.Server)
	}
	return nil
}

type authStatusOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Server  string // "" is all
	JSON    bool
}

func newCmdAuthStatus(f *Factory, runF func(context.Context, *authStatusOptions) error) *cobra.Command {
	opts := &authStatusOptions{Streams: f.Streams, Host: f.openOwn}
	cmd := &cobra.Command{
		Use:   "status [SERVER]",
		Short: "Show which servers you are logged in to, without contacting them",
		Long: `Show the credentials of all servers that can have one, or of SERVER alone. With SERVER,
the exit code is 5 if you have to log in.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q", args[1])
			}
			return nil
		},
		ValidArgsFunction: f.complete(completeServer),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Server = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return authStatusRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"credentials":[{"server","state","reason","issuer","scopes","expiresAt",...}]}`)
	return cmd
}

func authStatusRun(ctx context.Context, opts *authStatusOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	all, err := credentials(ctx, h, opts.Server)
	if err != nil {
		return err
	}
	if opts.JSON {
		err = printCredentials(opts.Streams, all)
	} else if err = tableOfCredentials(opts.Streams, all); err == nil && len(all) == 0 {
		opts.Streams.Note("collet: no server is configured that you can log in to")
	}
	if err == nil && opts.Server != "" && all[0].State != host.LoggedIn && !all[0].Refreshable {
		return quiet(exitAuth)
	}
	return err
}

// credentialOf is a server's credential, or why it cannot be told.
type credentialOf struct {
	server string
	host.Credential
	fault string
}

// unknownCredential is the state of a credential that cannot be told.
const unknownCredential host.CredentialState = "unknown"

// credentials are those of the servers that could have one, or that of server.
func credentials(ctx context.Context, h openHost, server string) (all []credentialOf, err error) {
	if server != "" {
		st, err := h.Credential(ctx, server)
		return []credentialOf{{server: server, Credential: st}}, err
	}
	for _, s := range h.Servers() {
		st, err := h.Credential(ctx, s.Name)
		c := credentialOf{server: s.Name, Credential: st}
		if f, ok := errors.AsType[*host.Failure](err); ok {
			if f.Class == failure.NotFound {
				continue // it could have none
			}
			c.fault, c.State = f.Message, unknownCredential
		} else if st.State == host.LoggedOut && !st.Configured {
			continue // it has not asked for a login
		}
		all = append(all, c)
	}
	return all, nil
}

func tableOfCredentials(s *terminal.Streams, all []credentialOf) error {
	if len(all) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(all))
	for _, c := range all {
		about := cmp.Or(c.fault, c.Reason)
		switch {
		case about == "" && c.Store != "" && c.State == host.LoggedIn && c.Refreshable:
			about = "renewed automatically"
		case about == "" && c.State == host.LoggedIn && !c.Expiry.IsZero():
			about = "valid until " + c.Expiry.Local().Format(time.DateTime)
		case about == "" && c.Refreshable:
			about = fmt.Sprintf("%s needs no login", c.Grant)
		}
		rows = append(rows, []string{c.server, string(c.State), visible(cmp.Or(c.Issuer, "-")), visible(cmp.Or(strings.Join(c.Scopes, " "), "-")), visible(about)})
	}
	return s.Table([]string{"SERVER", "STATE", "ISSUER", "SCOPES", "ABOUT"}, rows)
}

func printCredentials(s *terminal.Streams, all []credentialOf) error {
	type credential struct {
		Server      string   `json:"server"`
		State       string   `json:"state"`
		Reason      *string  `json:"reason"`
		Grant       *string  `json:"grant"`
		Resource    *string  `json:"resource"`
		Issuer      *string  `json:"issuer"`
		ClientID    *string  `json:"clientId"`
		Registered  *string  `json:"registered"`
		Scopes      []string `json:"scopes"`
		Wanted      []string `json:"wanted"`
		ExpiresAt   *string  `json:"expiresAt"`
		ObtainedAt  *string  `json:"obtainedAt"`
		Refreshable bool     `json:"refreshable"`
		Store       *string  `json:"store"`
	}
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	moment := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		return text(t.UTC().Format(time.RFC3339))
	}
	list := func(l []string) []string { return append([]string{}, l...) }
	out := struct {
		Credentials []credential `json:"credentials"`
	}{[]credential{}}
	for _, c := range all {
		out.Credentials = append(out.Credentials, credential{
			Server: c.server, State: string(c.State), Reason: text(cmp.Or(c.fault, c.Reason)), Grant: text(string(c.Grant)),
			Resource: text(c.Resource), Issuer: text(c.Issuer), ClientID: text(c.ClientID), Registered: text(c.Registered),
			Scopes: list(c.Scopes), Wanted: list(c.Wanted), ExpiresAt: moment(c.Expiry), ObtainedAt: moment(c.Obtained),
			Refreshable: c.Refreshable, Store: text(c.Store),
		})
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return err
	}
	return printJSON(s, []byte(strings.TrimSuffix(b.String(), "\n")))
}
