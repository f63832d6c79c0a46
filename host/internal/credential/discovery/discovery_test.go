package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// web answers with documents by URL, and remembers what was asked for. A number is a
// status, anything else is missing.
type web struct {
	docs  map[string]string
	asked []string
}

func (w *web) Get(_ context.Context, at string) (*fetch.Answer, error) {
	w.asked = append(w.asked, at)
	if _, err := fetch.Endpoint(at); err != nil {
		return nil, err
	}
	doc, ok := w.docs[at]
	if !ok {
		return &fetch.Answer{Status: 404}, nil
	}
	var status int
	if n, err := fmt.Sscanf(doc, "status %d", &status); n == 1 && err == nil {
		return &fetch.Answer{Status: status}, nil
	}
	if doc == "unreachable" {
		return nil, errors.New("unreachable")
	}
	return &fetch.Answer{Status: 200, Body: []byte(doc)}, nil
}

const (
	resource = "https://mcp.example/a/mcp"
	atPath   = "https://mcp.example/.well-known/oauth-protected-resource/a/mcp"
	atRoot   = "https://mcp.example/.well-known/oauth-protected-resource"
	given    = "https://elsewhere.example/meta"
)

func doc(id string) string {
	return `{"resource":"` + id + `","authorization_servers":["https://as.example"],"scopes_supported":["a","a","b c",""]}`
}

func TestFindResource(t *testing.T) {
	found := func(id string) Resource {
		return Resource{ID: id, Servers: []string{"https://as.example"}, Scopes: []string{"a"}}
	}
	for name, test := range map[string]struct {
		docs      map[string]string
		challenge string
		want      Resource
		asked     []string
		fault     string
	}{
		"at its path":           {map[string]string{atPath: doc(resource)}, "", found(resource), []string{atPath}, ""},
		"at the root":           {map[string]string{atRoot: doc("https://mcp.example")}, "", found("https://mcp.example"), []string{atPath, atRoot}, ""},
		"where the header says": {map[string]string{given: doc(resource), atPath: "{}"}, given, found(resource), []string{given}, ""},
		"the header is wrong":   {map[string]string{atPath: doc(resource)}, given, found(resource), []string{given, atPath}, ""},
		"the header is a trap":  {map[string]string{atPath: doc(resource)}, "file:///etc/passwd", found(resource), []string{"file:///etc/passwd", atPath}, ""},
		"with a slash":          {map[string]string{atPath: doc(resource + "/")}, "", found(resource + "/"), []string{atPath}, ""},
		"above it":              {map[string]string{atPath: doc("https://mcp.example/a")}, "", found("https://mcp.example/a"), []string{atPath}, ""},
		"a page for everything": {map[string]string{atPath: "<html>", atRoot: "\ufeff " + doc(resource)}, "", found(resource), []string{atPath, atRoot}, ""},
		"nowhere":               {nil, "", Resource{ID: resource, Servers: []string{"https://mcp.example"}, Guessed: true}, []string{atPath, atRoot}, ""},
		"not now":               {map[string]string{atPath: "status 503"}, "", Resource{}, []string{atPath, atRoot}, "status 503"},
		"unreachable":           {map[string]string{atPath: "unreachable"}, "", Resource{}, []string{atPath, atRoot}, "unreachable"},
		"another resource":      {map[string]string{atPath: doc("https://evil.example/mcp")}, "", Resource{}, []string{atPath}, "is of the resource"},
		"another path":          {map[string]string{atPath: doc("https://mcp.example/a/mcpx")}, "", Resource{}, []string{atPath}, "is of the resource"},
		"a beginning of a name": {map[string]string{atPath: doc("https://mcp.example/a/m")}, "", Resource{}, []string{atPath}, "is of the resource"},
		"no server":             {map[string]string{atPath: `{"resource":"` + resource + `"}`}, "", Resource{}, []string{atPath}, "names no authorization server"},
		"an insecure server": {map[string]string{atPath: `{"resource":"` + resource + `","authorization_servers":["http://as.example"]}`}, "", Resource{}, []string{atPath},
			"http is for this machine only"},
		"a script for a server": {map[string]string{atPath: `{"resource":"` + resource + `","authorization_servers":["javascript:alert(1)"]}`}, "", Resource{}, []string{atPath},
			"neither https"},
		"the wrong types": {map[string]string{atPath: `{"resource":1}`}, "", Resource{}, []string{atPath}, "cannot be read"},
	} {
		w := &web{docs: test.docs}
		got, err := FindResource(t.Context(), w, resource, test.challenge)
		if !reflect.DeepEqual(got, test.want) || !slices.Equal(w.asked, test.asked) {
			t.Errorf("%s: %+v after %q, want %+v after %q", name, got, w.asked, test.want, test.asked)
		}
		if (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: error %v, want %q", name, err, test.fault)
		}
	}
}

func as(issuer string, more string) string {
	return `{"issuer":"` + issuer + `","authorization_endpoint":"https://as.example/authorize","token_endpoint":"https://as.example/token"` + more + `}`
}

// The metadata of an issuer with a path is in one of three places.
func TestPlaces(t *testing.T) {
	const issuer = "https://as.example/tenant1"
	places := []string{
		"https://as.example/.well-known/oauth-authorization-server/tenant1",
		"https://as.example/.well-known/openid-configuration/tenant1",
		"https://as.example/tenant1/.well-known/openid-configuration",
	}
	for i, place := range places {
		w := &web{docs: map[string]string{place: as(issuer, "")}}
		if s, err := Metadata(t.Context(), w, issuer); err != nil || s.Issuer != issuer || !slices.Equal(w.asked, places[:i+1]) {
			t.Errorf("at %s: %+v, %v, asked %q", place, s, err, w.asked)
		}
	}
	w := &web{}
	_, err := Metadata(t.Context(), w, issuer)
	if missing, ok := errors.AsType[*Missing](err); !ok || !slices.Equal(missing.Tried, places) {
		t.Errorf("nowhere: %v", err)
	}
	for _, place := range places {
		if !strings.Contains(err.Error(), place) {
			t.Errorf("the error does not name %s: %v", place, err)
		}
	}
	w = &web{docs: map[string]string{"https://as.example/.well-known/openid-configuration": as("https://as.example", "")}}
	if s, err := Metadata(t.Context(), w, "https://as.example/"); err != nil || s.Issuer != "https://as.example" {
		t.Errorf("a slash more: %+v, %v", s, err)
	}
}

func TestMetadata(t *testing.T) {
	const issuer = "https://as.example"
	at := issuer + "/.well-known/oauth-authorization-server"
	for body, want := range map[string]string{
		as("https://other.example", ""):                                                           "is of the issuer",
		`{"issuer":"https://as.example"}`:                                                         "has no token_endpoint",
		as(issuer, `,"registration_endpoint":"http://as.example/r"`):                              "has a registration_endpoint that",
		as(issuer, `,"revocation_endpoint":"file:///x"`):                                          "has a revocation_endpoint that",
		as(issuer, `,"device_authorization_endpoint":"http://10.0.0.1"`):                          "has a device_authorization_endpoint that",
		strings.Replace(as(issuer, ""), "https://as.example/authorize", "javascript:alert(1)", 1): "has a authorization_endpoint that",
		strings.Replace(as(issuer, ""), "https://as.example/token", "http://169.254.169.254/", 1): "has a token_endpoint that",
		`{"issuer":["https://as.example"]}`:                                                       "cannot be read",
		`{"issuer":`:                                                                              "cannot be read",
	} {
		if _, err := Metadata(t.Context(), &web{docs: map[string]string{at: body}}, issuer); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at) {
			t.Errorf("%s\n error %v, want %q", body, err, want)
		}
	}
	got, err := Metadata(t.Context(), &web{docs: map[string]string{at: as(issuer, `,"code_challenge_methods_supported":["plain","S256"],
		"client_id_metadata_document_supported":true,"authorization_response_iss_parameter_supported":true,"scopes_supported":["x"],
		"token_endpoint_auth_methods_supported":["none"],"device_authorization_endpoint":"https://as.example/device"`)}}, issuer)
	want := Server{
		Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", DeviceEndpoint: issuer + "/device",
		Scopes: []string{"x"}, AuthMethods: []string{"none"}, PKCE: true, ClientDocuments: true, ResponseIssuer: true,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"http://as.example", "https://as.example?x=1", "https://as.example#f", "x"} {
		if _, err := Metadata(t.Context(), &web{}, bad); err == nil {
			t.Errorf("issuer %q", bad)
		}
	}
}

func TestFindServer(t *testing.T) {
	docs := map[string]string{
		"https://b.example/.well-known/oauth-authorization-server": as("https://b.example", ""),
		"https://c.example/.well-known/oauth-authorization-server": as("https://c.example", ""),
	}
	r := Resource{Servers: []string{"https://a.example", "https://b.example"}}
	if s, err := FindServer(t.Context(), &web{docs: docs}, r, ""); err != nil || s.Issuer != "https://b.example" {
		t.Errorf("the first with metadata: %+v, %v", s, err)
	}
	if _, err := FindServer(t.Context(), &web{docs: docs}, r, "https://c.example"); err == nil || !strings.Contains(err.Error(), "not from the configured issuer") {
		t.Errorf("one that the resource does not name: %v", err)
	}
	guessed := Resource{Servers: []string{"https://mcp.example"}, Guessed: true}
	if s, err := FindServer(t.Context(), &web{docs: docs}, guessed, "https://c.example"); err != nil || s.Issuer != "https://c.example" {
		t.Errorf("one for a resource that names none: %+v, %v", s, err)
	}
	if s, err := FindServer(t.Context(), &web{}, guessed, ""); err != nil || !s.Guessed || s.TokenEndpoint != "https://mcp.example/token" {
		t.Errorf("none at all: %+v, %v", s, err)
	}
	if _, err := FindServer(t.Context(), &web{docs: map[string]string{"https://mcp.example/.well-known/openid-configuration": "status 500"}}, guessed, ""); err == nil {
		t.Error("one that is down is not one without metadata")
	}
	if _, err := FindServer(t.Context(), &web{}, r, ""); err == nil {
		t.Error("endpoints were guessed for a resource that names its server")
	}
}

func TestCanonical(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTPS://MCP.Example:443/A/?q#f": "https://mcp.example/A/?q",
		"http://127.0.0.1:80":            "http://127.0.0.1",
		"https://h:8443/x":               "https://h:8443/x",
		"https://h/x/":                   "https://h/x/",
		"https://[::1]:443/":             "https://[::1]/",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := Canonical(u); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// What comes out of a stranger's document is safe to use.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte(doc(resource)))
	f.Add([]byte(as("https://as.example", `,"registration_endpoint":"https://as.example/r","code_challenge_methods_supported":["S256"]`)))
	f.Add([]byte(`{"resource":"https://mcp.example","authorization_servers":["https://a","http://localhost/b"],"scopes_supported":["\"","x"]}`))
	at, _ := url.Parse(resource)
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := readResource(body, at); err == nil {
			u, err := url.Parse(r.ID)
			if err != nil || hostPort(u) != hostPort(at) || len(r.Servers) == 0 || len(r.Servers) > maxServers {
				t.Errorf("%q: %+v", body, r)
			}
			for _, s := range r.Servers {
				if _, err := fetch.Endpoint(s); err != nil {
					t.Errorf("%q: server %q: %v", body, s, err)
				}
			}
			for _, s := range r.Scopes {
				if strings.ContainsAny(s, " \"\\\n") {
					t.Errorf("scope %q", s)
				}
			}
		}
		s, err := readServer(body, "https://as.example")
		if err != nil {
			return
		}
		for _, e := range []string{s.AuthorizationEndpoint, s.TokenEndpoint, s.RegistrationEndpoint, s.RevocationEndpoint, s.DeviceEndpoint} {
			if _, err := fetch.Endpoint(e); e != "" && err != nil {
				t.Errorf("%q: endpoint %q: %v", body, e, err)
			}
		}
	})
}
