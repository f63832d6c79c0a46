// Package fakeauth is an authorization server and a resource that it protects, for
// tests: strict about what clients have to send, with refresh tokens that rotate and
// whose reuse revokes everything that came of the same login, and with faults on
// demand.
//
// It is no example of how to issue tokens.
package fakeauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is both servers, on this machine. Its fields may be changed before the
// first request, and within Change later.
type Server struct {
	URL string // http://127.0.0.1:PORT

	IssuerPath     string   // "/tenant"; "" is none
	MetadataAt     []string // where the AS's metadata is found; nil is the first place of RFC 8414
	ResourceAt     []string // where the resource's metadata is; nil is the place for its path
	Challenge      func(scope, problem string) string
	NoRegistration bool
	NoPKCE         bool
	NoIss          bool // neither sends iss nor says that it would
	Documents      bool // client_id_metadata_document_supported
	AuthMethods    []string
	Scopes         []string // scopes_supported of both
	Need           []string // scopes that the resource asks for
	ExpiresIn      string   // as JSON; "" is the lifetime in seconds, "-" is none
	Lifetime       time.Duration
	Static         bool // refresh tokens stay as they are
	// Grace: a refresh token that was used is answered with the tokens of then, until
	// those were used; many servers do so for a while, since answers get lost.
	Grace   bool
	Clients map[string]string                     // registered by hand: id to secret
	Mutate  func(path string, doc map[string]any) // metadata, before it is sent
	// Serve is what the resource does for those whose token is good; nil answers
	// JSON-RPC with an empty result. It is called with no other request under way.
	Serve http.Handler
	// Fault may answer a request to the token endpoint instead, n counting them from
	// 1, and says whether it did. It runs before the server has decided anything.
	Fault func(n int, w http.ResponseWriter, r *http.Request) bool
	// After runs when a grant was decided and before its answer is written.
	After func(n int, w http.ResponseWriter, r *http.Request) bool

	mu      sync.Mutex
	http    *httptest.Server
	clients map[string]client
	codes   map[string]code
	grants  []*family
	counts  Counts
	events  []Event
	devices map[string]bool // code to allowed
}

// Counts are what happened.
type Counts struct {
	Authorizations, Registrations, Codes, Refreshes, Reuses, Revocations, Credentials, TokenRequests int
}

// Event is one request that reached an endpoint.
type Event struct {
	Path string
	Form url.Values
	User string // of Basic authentication
}

type client struct{ secret, method string }

type code struct {
	clientID, redirect, challenge, resource string
	scopes                                  []string
	used                                    bool
}

// family is all that came of one login.
type family struct {
	clientID, resource string
	scopes             []string
	refresh            string   // the one that is good
	old                []string // those that are not any more
	access             map[string]time.Time
	revoked            bool
	last               any // the answer with refresh
}

// Start runs a server until the test ends.
func Start(t interface {
	Cleanup(func())
	Helper()
}) *Server {
	t.Helper()
	s := &Server{
		Lifetime: time.Hour, Clients: map[string]string{}, clients: map[string]client{}, codes: map[string]code{}, devices: map[string]bool{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("POST /device", s.device)
	mux.HandleFunc("/mcp", s.resource)
	mux.HandleFunc("/", s.metadata)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Resource is the URL of the protected resource.
func (s *Server) Resource() string { return s.URL + "/mcp" }

// Issuer is the authorization server's.
func (s *Server) Issuer() string { return s.URL + s.IssuerPath }

// Change runs f while no request is served.
func (s *Server) Change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Counts returns what happened so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Events returns the requests of one path, "" for all.
func (s *Server) Events(path string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e Event) bool { return path != "" && e.Path != path })
}

// Expire ends every access token.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		for a := range g.access {
			g.access[a] = time.Time{}
		}
	}
}

// Accepts says whether the resource would take an access token now.
func (s *Server) Accepts(access string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(access) != nil
}

// Families are how many logins there were and how many of them are not revoked.
func (s *Server) Families() (all, good int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		if !g.revoked {
			good++
		}
	}
	return len(s.grants), good
}

// Allow lets a person have entered a device's code.
func (s *Server) Allow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.devices {
		s.devices[d] = true
	}
}

func (s *Server) find(access string) *family {
	for _, g := range s.grants {
		if end, ok := g.access[access]; ok && !g.revoked && time.Now().Before(end) {
			return g
		}
	}
	return nil
}

// note remembers a request; the caller holds mu.
func (s *Server) note(r *http.Request) {
	_ = r.ParseForm()
	user, _, _ := r.BasicAuth()
	s.events = append(s.events, Event{Path: r.URL.Path, Form: r.Form, User: user})
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r)
	as, rs := s.MetadataAt, s.ResourceAt
	if as == nil {
		as = []string{"/.well-known/oauth-authorization-server" + s.IssuerPath}
	}
	if rs == nil {
		rs = []string{"/.well-known/oauth-protected-resource/mcp"}
	}
	var doc map[string]any
	switch {
	case slices.Contains(rs, r.URL.Path):
		doc = map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.Issuer()}}
		if s.Scopes != nil {
			doc["scopes_supported"] = s.Scopes
		}
	case slices.Contains(as, r.URL.Path):
		doc = map[string]any{
			"issuer": s.Issuer(), "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"revocation_endpoint": s.URL + "/revoke", "device_authorization_endpoint": s.URL + "/device",
			"client_id_metadata_document_supported":          s.Documents,
			"authorization_response_iss_parameter_supported": !s.NoIss,
		}
		if !s.NoRegistration {
			doc["registration_endpoint"] = s.URL + "/register"
		}
		if !s.NoPKCE {
			doc["code_challenge_methods_supported"] = []string{"S256"}
		}
		if s.AuthMethods != nil {
			doc["token_endpoint_auth_methods_supported"] = s.AuthMethods
		}
		if s.Scopes != nil {
			doc["scopes_supported"] = s.Scopes
		}
	default:
		http.NotFound(w, r)
		return
	}
	if s.Mutate != nil {
		s.Mutate(r.URL.Path, doc)
	}
	answer(w, http.StatusOK, doc)
}

func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func refuse(w http.ResponseWriter, status int, code, description string) {
	answer(w, status, map[string]string{"error": code, "error_description": description})
}

// resource is the protected one: it answers JSON-RPC with an empty result.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	access, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g := s.find(access)
	challenge := func(problem string) {
		c := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.URL)
		if problem != "" {
			c += fmt.Sprintf(`, error="%s"`, problem)
		}
		if s.Need != nil {
			c += fmt.Sprintf(`, scope="%s"`, strings.Join(s.Need, " "))
		}
		if s.Challenge != nil {
			c = s.Challenge(strings.Join(s.Need, " "), problem)
		}
		w.Header().Set("WWW-Authenticate", c)
	}
	switch {
	case access == "":
		challenge("")
		w.WriteHeader(http.StatusUnauthorized)
	case g == nil:
		challenge("invalid_token")
		w.WriteHeader(http.StatusUnauthorized)
	case slices.ContainsFunc(s.Need, func(n string) bool { return !slices.Contains(g.scopes, n) }):
		challenge("insufficient_scope")
		w.WriteHeader(http.StatusForbidden)
	case s.Serve != nil:
		s.Serve.ServeHTTP(w, r)
	default:
		answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": 0, "result": map[string]any{}})
	}
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r)
	s.counts.Authorizations++
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if _, known := s.known(q.Get("client_id")); !known || err != nil || back.Host == "" {
		http.Error(w, "unknown client or redirect URI", http.StatusBadRequest)
		return
	}
	out := url.Values{"state": {q.Get("state")}}
	if !s.NoIss {
		out.Set("iss", s.Issuer())
	}
	switch {
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "":
		out.Set("error", "invalid_request")
	case q.Get("resource") != s.URL+"/mcp":
		out.Set("error", "invalid_target")
	default:
		c := rand.Text()
		s.codes[c] = code{
			clientID: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"),
			resource: q.Get("resource"), scopes: strings.Fields(q.Get("scope")),
		}
		out.Set("code", c)
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (s *Server) known(id string) (client, bool) {
	if secret, ok := s.Clients[id]; ok {
		return client{secret: secret}, true
	}
	if s.Documents && strings.HasPrefix(id, "https://") {
		return client{}, true
	}
	c, ok := s.clients[id]
	return c, ok
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r)
	s.counts.Registrations++
	var asked map[string]any
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["application_type"] != "native" {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", "want a native application")
		return
	}
	c := client{method: fmt.Sprint(asked["token_endpoint_auth_method"])}
	doc := map[string]any{"client_id": "c-" + rand.Text(), "token_endpoint_auth_method": c.method, "redirect_uris": asked["redirect_uris"]}
	if c.method != "none" {
		c.secret = "secret-" + rand.Text()
		doc["client_secret"] = c.secret
		doc["client_secret_expires_at"] = 0
	}
	s.clients[doc["client_id"].(string)] = c
	answer(w, http.StatusCreated, doc)
}

// Forget has the server know no registered client any more.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.clients)
}

func verifies(challenge, verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:]) == challenge
}
