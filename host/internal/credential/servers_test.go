package credential

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/sdk/failure"
)

const document = "https://collet.example/client.json"

// Servers in the field say where they are in many ways.
func TestServers(t *testing.T) {
	for name, test := range map[string]struct {
		server     func(*fakeauth.Server)
		settings   func(*Settings)
		registered string
	}{
		"an issuer with a path": {func(as *fakeauth.Server) { as.IssuerPath = "/tenant" }, nil, "dynamic"},
		"OpenID Connect, inserted": {func(as *fakeauth.Server) {
			as.IssuerPath, as.MetadataAt = "/tenant", []string{"/.well-known/openid-configuration/tenant"}
		}, nil, "dynamic"},
		"OpenID Connect, appended": {func(as *fakeauth.Server) {
			as.IssuerPath, as.MetadataAt = "/tenant", []string{"/tenant/.well-known/openid-configuration"}
		}, nil, "dynamic"},
		"a resource at the root": {func(as *fakeauth.Server) { as.ResourceAt = []string{"/.well-known/oauth-protected-resource"} }, nil, "dynamic"},
		"no resource metadata":   {func(as *fakeauth.Server) { as.ResourceAt = []string{"/nowhere"} }, nil, "dynamic"},
		"no metadata at all": {func(as *fakeauth.Server) {
			as.ResourceAt, as.MetadataAt, as.NoIss = []string{"/nowhere"}, []string{"/nowhere"}, true
		}, nil, "dynamic"},
		"no challenge": {func(as *fakeauth.Server) { as.Challenge = func(string, string) string { return "" } }, nil, "dynamic"},
		"a challenge that misleads": {func(as *fakeauth.Server) {
			as.Challenge = func(string, string) string { return `Bearer resource_metadata="https://169.254.7.7/x"` }
		}, nil, "dynamic"},
		"no issuer in answers":  {func(as *fakeauth.Server) { as.NoIss = true }, nil, "dynamic"},
		"secrets in the header": {func(as *fakeauth.Server) { as.AuthMethods = []string{"client_secret_basic"} }, nil, "dynamic"},
		"secrets in the form":   {func(as *fakeauth.Server) { as.AuthMethods = []string{"client_secret_post"} }, nil, "dynamic"},
		"a client's document":   {func(as *fakeauth.Server) { as.Documents = true }, func(s *Settings) { s.ClientMetadataURL = document }, "metadata document"},
		"a document of no use":  {func(*fakeauth.Server) {}, func(s *Settings) { s.ClientMetadataURL = document }, "dynamic"},
		"a configured client": {func(as *fakeauth.Server) { as.NoRegistration, as.Clients["mine"] = true, "s3cret" }, func(s *Settings) {
			s.ClientID, s.ClientSecret = "mine", "s3cret"
		}, "configured"},
		"a configured issuer": {func(*fakeauth.Server) {}, func(s *Settings) { s.Issuer = strings.TrimSuffix(s.Resource, "/mcp") }, "dynamic"},
	} {
		t.Run(name, func(t *testing.T) {
			as := fakeauth.Start(t)
			test.server(as)
			k := open(t)
			s := settings(as)
			if test.settings != nil {
				test.settings(&s)
			}
			if st := mustLogin(t, k, s); st.Registered != test.registered {
				t.Errorf("status %+v", st)
			}
			if err := call(t.Context(), k, s); err != nil {
				t.Error(err)
			}
			outdate(t, as, k.opt.Path)
			if err := call(t.Context(), k, s); err != nil {
				t.Errorf("after its end: %v", err)
			}
			if c := as.Counts(); c.Refreshes != 1 || c.Reuses != 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// What would be unsafe, or cannot work, is refused with what to do about it, and
// nobody is sent to a browser for it when it can be known before.
func TestRefusedServers(t *testing.T) {
	change := func(path, key string, value any) func(*fakeauth.Server) {
		return func(as *fakeauth.Server) {
			as.Mutate = func(at string, doc map[string]any) {
				if strings.Contains(at, path) {
					doc[key] = value
				}
			}
		}
	}
	for name, test := range map[string]struct {
		server  func(*fakeauth.Server)
		want    string
		visited bool
	}{
		"no PKCE":                   {func(as *fakeauth.Server) { as.NoPKCE = true }, "S256", false},
		"no way to register":        {func(as *fakeauth.Server) { as.NoRegistration = true }, "client_id", false},
		"another issuer":            {change("authorization-server", "issuer", "https://evil.example"), "is of the issuer", false},
		"another resource":          {change("protected-resource", "resource", "https://evil.example/mcp"), "is of the resource", false},
		"a script to visit":         {change("authorization-server", "authorization_endpoint", "javascript:alert(1)"), "neither https:// nor http://", false},
		"a file to visit":           {change("authorization-server", "authorization_endpoint", "file:///etc/passwd"), "neither https:// nor http://", false},
		"an issuer inside a cloud":  {change("protected-resource", "authorization_servers", []string{"https://169.254.169.254"}), "nothing may point to", false},
		"a registration in a cloud": {change("authorization-server", "registration_endpoint", "https://169.254.169.254/r"), "nothing may point to", false},
		"tokens inside a cloud":     {change("authorization-server", "token_endpoint", "https://169.254.169.254/t"), "nothing may point to", true},
	} {
		t.Run(name, func(t *testing.T) {
			as := fakeauth.Start(t)
			test.server(as)
			k := open(t)
			v := &visitor{}
			_, err := k.Login(t.Context(), settings(as), Need{}, v)
			f := wantFailure(t, err, failure.AuthFailure)
			if !strings.Contains(f.Message, test.want) || !strings.HasPrefix(f.Message, "log in for docs ("+as.Resource()+"): ") {
				t.Errorf("message %q, want %q", f.Message, test.want)
			}
			if (v.visited != "") != test.visited {
				t.Errorf("visited %q", v.visited)
			}
			if st, err := k.Status(t.Context(), settings(as)); err != nil || st.State != LoggedOut {
				t.Errorf("status %+v, %v", st, err)
			}
		})
	}
}

// The next login comes back to the port of before, which the client is registered for.
func TestRedirectPort(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	for i, uri := range []string{"http://127.0.0.1:40001/callback", "http://127.0.0.1:40001/callback", "http://127.0.0.1:40002/callback"} {
		v := &visitor{uri: uri}
		if _, err := k.Login(t.Context(), s, Need{}, v); err != nil {
			t.Fatal(err)
		}
		if want := []int{0, 40001, 40001}[i]; v.want.Port != want || v.want.Fixed || v.want.Host != "127.0.0.1" {
			t.Errorf("login %d: %+v, want port %d", i, v.want, want)
		}
	}
	if n := as.Counts().Registrations; n != 2 {
		t.Errorf("%d registrations, want 2: one for each port", n)
	}
	s.RedirectHost, s.RedirectPort = "localhost", 40003
	busy := fmt.Errorf("port 40003 is taken")
	_, err := k.Login(t.Context(), s, Need{}, &deaf{err: busy, t: t})
	if err == nil || !strings.Contains(err.Error(), "port 40003 is taken") {
		t.Errorf("%v", err)
	}
	if n := as.Counts().Authorizations; n != 3 {
		t.Errorf("%d authorizations", n)
	}
	for _, uri := range []string{"https://evil.example/callback", "http://evil.example/callback", "x"} {
		if _, err := k.Login(t.Context(), s, Need{}, &visitor{uri: uri}); err == nil || !strings.Contains(err.Error(), "redirect URI") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// deaf is a browser nobody can come back from.
type deaf struct {
	visitor
	err error
	t   *testing.T
}

func (d *deaf) Listen(_ context.Context, want Redirect) (string, error) {
	if want != (Redirect{Host: "localhost", Port: 40003, Path: "/callback", Fixed: true}) {
		d.t.Errorf("%+v", want)
	}
	return "", d.err
}
