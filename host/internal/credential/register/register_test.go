package register

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/discovery"
	"github.com/collet-dev/collet/host/internal/credential/fetch"
	"github.com/collet-dev/collet/host/internal/credential/store"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// endpoint is a registration endpoint.
type endpoint struct {
	answer fetch.Answer
	sent   []string
}

func (e *endpoint) Post(_ context.Context, _ string, _ http.Header, body string) (*fetch.Answer, error) {
	e.sent = append(e.sent, body)
	return &e.answer, nil
}

const uri = "http://127.0.0.1:5/callback"

var now = time.Unix(1e9, 0)

func server() discovery.Server {
	return discovery.Server{Issuer: "https://as.example", RegistrationEndpoint: "https://as.example/register"}
}

func choose(t *testing.T, e *endpoint, s discovery.Server, id Identity, known *store.Registration) (store.Client, *store.Registration, error) {
	t.Helper()
	return Choose(t.Context(), e, s, id, uri, known, now)
}

// What the user configured comes first, then a document, then what there is, and
// only then a new registration.
func TestOrder(t *testing.T) {
	e := &endpoint{answer: fetch.Answer{Status: 201, Body: []byte(`{"client_id":"new"}`)}}
	documents := server()
	documents.ClientDocuments = true
	all := Identity{ClientID: "mine", DocumentURL: "https://collet.example/client.json"}
	known := &store.Registration{RedirectURI: uri, Client: store.Client{ID: "known", Method: "none", Source: store.Dynamic}}
	for _, test := range []struct {
		name  string
		s     discovery.Server
		id    Identity
		known *store.Registration
		want  string
	}{
		{"configured", documents, all, known, "mine"},
		{"document", documents, Identity{DocumentURL: all.DocumentURL}, known, all.DocumentURL},
		{"a server without documents", server(), Identity{DocumentURL: all.DocumentURL}, known, "known"},
		{"no document", documents, Identity{}, known, "known"},
		{"nothing", server(), Identity{}, nil, "new"},
		{"another redirect", server(), Identity{}, &store.Registration{RedirectURI: uri + "x", Client: known.Client}, "new"},
		{"refused", server(), Identity{}, &store.Registration{RedirectURI: uri, Refused: true, Client: known.Client}, "new"},
		{"expired", server(), Identity{}, &store.Registration{RedirectURI: uri, Expires: now, Client: known.Client}, "new"},
	} {
		e.sent = nil
		c, registered, err := choose(t, e, test.s, test.id, test.known)
		if err != nil || c.ID != test.want || (registered != nil) != (test.want == "new") || len(e.sent) > 0 != (test.want == "new") {
			t.Errorf("%s: %+v, %+v, %v", test.name, c, registered, err)
		}
	}
	s := server()
	s.RegistrationEndpoint = ""
	if _, _, err := choose(t, e, s, Identity{}, nil); err == nil || !strings.Contains(err.Error(), "client_id") || !strings.Contains(err.Error(), uri) {
		t.Errorf("no way at all: %v", err)
	}
}

func TestSecretMethod(t *testing.T) {
	for _, test := range []struct {
		supported []string
		want      string
	}{
		{nil, "client_secret_basic"},
		{[]string{"client_secret_post"}, "client_secret_post"},
		{[]string{"client_secret_post", "client_secret_basic"}, "client_secret_basic"},
		{[]string{"private_key_jwt"}, "client_secret_basic"},
	} {
		s := server()
		s.AuthMethods = test.supported
		c, _, err := choose(t, nil, s, Identity{ClientID: "c", Secret: "s"}, nil)
		if err != nil || c.Method != test.want || c.Secret != "" {
			t.Errorf("%q: %+v, %v", test.supported, c, err)
		}
	}
}

func TestDynamic(t *testing.T) {
	for _, test := range []struct {
		methods []string
		asked   string
		body    string
		want    store.Client
		expires time.Time
	}{
		{nil, "none", `{"client_id":"c"}`, store.Client{ID: "c", Method: "none"}, time.Time{}},
		{[]string{"client_secret_post"}, "client_secret_post", `{"client_id":"c","client_secret":"s"}`, store.Client{ID: "c", Secret: "s", Method: "client_secret_post"}, time.Time{}},
		{nil, "none", `{"client_id":"c","client_secret":"s","client_secret_expires_at":1000003600}`, store.Client{ID: "c", Secret: "s", Method: "client_secret_basic"}, now.Add(time.Hour).UTC()},
		{nil, "none", `{"client_id":"c","client_secret":"s","token_endpoint_auth_method":"client_secret_post","client_secret_expires_at":0}`, store.Client{ID: "c", Secret: "s", Method: "client_secret_post"}, time.Time{}},
		{nil, "none", `{"client_id":"c","client_secret":"s","client_secret_expires_at":"5"}`, store.Client{ID: "c", Secret: "s", Method: "client_secret_basic"}, time.Time{}},
	} {
		e := &endpoint{answer: fetch.Answer{Status: 201, Body: []byte(test.body)}}
		s := server()
		s.AuthMethods = test.methods
		c, r, err := choose(t, e, s, Identity{Version: "1"}, nil)
		test.want.Source = store.Dynamic
		if err != nil || c != test.want || r.Client != c || r.Issuer != s.Issuer || r.RedirectURI != uri || !r.Expires.Equal(test.expires) {
			t.Errorf("%s: %+v, %+v, %v", test.body, c, r, err)
		}
		// The official SDK reads in it what was meant.
		var read oauthex.ClientRegistrationMetadata
		if err := json.Unmarshal([]byte(e.sent[0]), &read); err != nil {
			t.Fatal(err)
		}
		if read.ApplicationType != "native" || read.RedirectURIs[0] != uri || read.TokenEndpointAuthMethod != test.asked || read.ClientName != "collet" || strings.Join(read.GrantTypes, " ") != "authorization_code refresh_token" {
			t.Errorf("sent %s", e.sent[0])
		}
	}
	for body, want := range map[string]string{
		`{"error":"invalid_redirect_uri","error_description":"no loopback here"}`: "no loopback here",
		`{"client_id":""}`: "no client_id",
		`{"client_id":7}`:  "no client_id",
		`secret`:           "no client_id",
		`{"client_id":"` + strings.Repeat("c", maxID+1) + `"}`: "no client_id",
	} {
		_, _, err := choose(t, &endpoint{answer: fetch.Answer{Status: 200, Body: []byte(body)}}, server(), Identity{}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "client_id in the server's oauth settings") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.100s: %v, want %q", body, err, want)
		}
	}
	if _, _, err := choose(t, &endpoint{answer: fetch.Answer{Status: 403}}, server(), Identity{}, nil); err == nil || !strings.Contains(err.Error(), "status 403") {
		t.Errorf("%v", err)
	}
}

// No answer is taken for a client that cannot be one.
func FuzzRead(f *testing.F) {
	f.Add(201, []byte(`{"client_id":"c","client_secret":"s","client_secret_expires_at":0}`))
	f.Add(400, []byte(`{"error":"x"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		r, err := read(&fetch.Answer{Status: status, Body: body}, "none", now)
		if (err == nil) != (r.ID != "") || len(r.ID) > maxID || r.Secret == "" && err == nil && r.Method != "none" || !r.Expires.IsZero() && r.Expires.Before(now) {
			t.Errorf("%q: %+v, %v", body, r, err)
		}
	})
}
