package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The grants of an oauth table: how tokens are come by.
const (
	GrantAuthorizationCode = "authorization_code" // a person logs in with a browser
	GrantDeviceCode        = "device_code"        // a person enters a code on another device
	GrantClientCredentials = "client_credentials" // the client is enough, nobody logs in
	GrantCommand           = "command"            // token_command prints them
)

// OAuth is the oauth table of a server: how it gets its tokens. What the file does
// not say is found out from the server.
type OAuth struct {
	Resource          string   `json:"resource,omitempty"` // the url that tokens are for, of servers that have none
	Issuer            string   `json:"issuer,omitempty"`
	ClientID          string   `json:"client_id,omitempty"`
	ClientSecret      string   `json:"client_secret,omitempty"`
	ClientMetadataURL string   `json:"client_metadata_url,omitempty"`
	Scopes            []string `json:"scopes,omitempty"`
	Grant             string   `json:"grant,omitempty"`
	TokenCommand      string   `json:"token_command,omitempty"`
	RedirectHost      string   `json:"redirect_host,omitempty"`
	RedirectPort      int      `json:"redirect_port,omitempty"`
}

// secretOAuth are the keys of the table whose values are not shown.
var secretOAuth = []string{"client_secret", tokenCommand}

// tokenCommand is the key whose value goes to the shell as written.
const tokenCommand = "token_command"

// The patterns of addresses, for the schema: https only, or of this machine too.
const (
	httpsPattern = `^https://[^/?#]|\$`
	safePattern  = httpsPattern + `|^http://(localhost|127\.|\[::1\])`
)

// oauthKeys are all keys of a server's oauth table.
var oauthKeys = []key[OAuth]{
	address("resource", safePattern, "the address that the tokens are for, if the server has no url", func(o *OAuth) *string { return &o.Resource }),
	address("issuer", safePattern, "the only authorization server to use (default: the one that the server names)", func(o *OAuth) *string { return &o.Issuer }),
	text("client_id", "a client that was registered by hand (default: collet registers one)", func(o *OAuth) *string { return &o.ClientID }),
	text("client_secret", "the secret of client_id, if it has one", func(o *OAuth) *string { return &o.ClientSecret }),
	address("client_metadata_url", httpsPattern, "the https address of collet's client metadata document", func(o *OAuth) *string { return &o.ClientMetadataURL }),
	strs("scopes", "the scopes to request instead of all that the server supports", func(o *OAuth) *[]string { return &o.Scopes }),
	word("grant", "how collet gets tokens (default: authorization_code, or command if token_command is set)", "",
		func(o *OAuth) *string { return &o.Grant }, GrantAuthorizationCode, GrantDeviceCode, GrantClientCredentials, GrantCommand),
	text(tokenCommand, "a shell command that prints a token, or JSON with access_token and expires_in", func(o *OAuth) *string { return &o.TokenCommand }),
	word("redirect_host", "the host that the browser is sent back to (default: 127.0.0.1)", "", func(o *OAuth) *string { return &o.RedirectHost }, "127.0.0.1", "localhost"),
	{"redirect_port", "the port that the browser is sent back to (default: any free port)", `"type":"integer","minimum":1,"maximum":65535`, "",
		func(t *table, o *OAuth) { o.RedirectPort = int(t.integer("redirect_port", 1, 65535)) }},
}

// address is the address of something on the web, that tokens or a person are sent to.
func address(name, pattern, about string, to target[OAuth, string]) key[OAuth] {
	return key[OAuth]{name, about, `"type":"string","minLength":1,"pattern":` + quoteJSON(pattern), "", func(t *table, o *OAuth) {
		text := t.text(name)
		if text != "" && !strings.Contains(text, "$") && !isSafeAddress(text) {
			t.fault(name, "must be an https:// address, or http:// of this machine")
		}
		*to(o) = text
	}}
}

// isSafeAddress reports whether tokens may go to an address: nobody between can read
// them. User, query and fragment are no part of one.
func isSafeAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	if u.Scheme == "https" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// readOAuth reads the table, and keeps it as JSON when nothing is wrong with it.
func readOAuth(t *table, s *Server) {
	sub := t.table("oauth")
	if sub == nil {
		return
	}
	faults := len(t.l.cfg.Problems)
	sub.only(names(oauthKeys)...)
	var o OAuth
	for _, k := range oauthKeys {
		k.read(sub, &o)
	}
	if len(t.l.cfg.Problems) == faults {
		checkOAuth(t, sub, o)
	}
	if len(t.l.cfg.Problems) == faults {
		s.OAuth = t.json("oauth")
	}
}

// checkOAuth checks what goes with what.
func checkOAuth(t, sub *table, o OAuth) {
	refuse := func(why string, keys ...string) {
		for _, k := range keys {
			if sub.has(k) {
				sub.fault(k, "%s; remove it", why)
			}
		}
	}
	switch grant := o.grant(); {
	case o.TokenCommand != "" && grant != GrantCommand:
		sub.fault("grant", "does not go with token_command, which is one; remove one of them")
	case grant == GrantCommand && o.TokenCommand == "":
		sub.fault("grant", "needs token_command, which says what to run")
	case grant == GrantCommand:
		refuse("does not go with token_command, which gets the token by its own means",
			"issuer", "client_id", "client_secret", "client_metadata_url", "scopes", "redirect_host", "redirect_port")
	case grant == GrantClientCredentials && o.ClientID == "":
		sub.fault("grant", "needs client_id and client_secret: a client that is registered at the authorization server")
	case grant != GrantAuthorizationCode:
		refuse("goes with grant = \""+GrantAuthorizationCode+"\", where a browser comes back", "redirect_host", "redirect_port")
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		sub.fault("client_secret", "belongs to a client_id; set that too")
	}
	if u := o.ClientMetadataURL; u != "" && !strings.Contains(u, "$") && !strings.HasPrefix(u, "https://") {
		sub.fault("client_metadata_url", "must be an https:// address")
	}
	switch isURL := t.has("url"); {
	case isURL && o.Resource != "":
		sub.fault("resource", "does not go with url, which tokens are for anyway; remove it")
	case !isURL && o.Resource == "" && o.grant() != GrantCommand && (t.has("command") || t.has("plugin")):
		t.fault("oauth", "needs resource, the url of the service that tokens are for")
	}
	if headers := t.table("headers"); headers != nil {
		for k := range headers.values {
			if strings.EqualFold(k, "Authorization") {
				headers.fault(k, "does not go with oauth, which sets it; remove one of them")
			}
		}
	}
}

func (o OAuth) grant() string {
	switch {
	case o.Grant != "":
		return o.Grant
	case o.TokenCommand != "":
		return GrantCommand
	}
	return GrantAuthorizationCode
}

// ResolveOAuth resolves what a login needs of the entry and nothing else: url, ca_file
// and oauth. Its fields are empty when the entry has no such table.
func (s *Server) ResolveOAuth(ctx context.Context, r Resolver) (*Resolved, *OAuth, error) {
	only := *s
	only.Plugin, only.Command, only.Args, only.Cwd, only.Env, only.Headers, only.Config = "", "", nil, "", nil, nil, nil
	res, err := only.Resolve(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	o, err := res.ReadOAuth()
	return res, o, err
}

// ReadOAuth reads the resolved table; what it says is checked again, since variables
// may have changed it.
func (r *Resolved) ReadOAuth() (*OAuth, error) {
	o := &OAuth{}
	if r.OAuth == nil {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.OAuth))
	d.DisallowUnknownFields()
	if err := d.Decode(o); err != nil {
		return nil, fmt.Errorf("read the oauth table: %w", err)
	}
	for key, address := range map[string]string{"resource": o.Resource, "issuer": o.Issuer, "client_metadata_url": o.ClientMetadataURL} {
		if address != "" && !isSafeAddress(address) {
			return nil, fmt.Errorf("oauth.%s must, once its variables are expanded, be an https:// address, or http:// of this machine", key)
		}
	}
	if i := slices.IndexFunc(o.Scopes, func(s string) bool { return s == "" || strings.ContainsAny(s, " \"\\\t\r\n") }); i >= 0 {
		return nil, fmt.Errorf("oauth.scopes[%d] is no scope: it may not be empty or hold spaces, quotes or backslashes", i)
	}
	o.Grant = o.grant()
	return o, nil
}
