package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const audience = "https://mcp.example.com/mcp"

// server is an authorization server as far as anybody sees it who only checks its
// tokens.
type server struct {
	*httptest.Server

	mu     sync.Mutex
	keys   any // of the set
	status int
	asked  map[string]int // by path
	delay  chan bool      // the key set is not answered before this is closed
	meta   func(base string) map[string]any
}

func newServer(t *testing.T, keys ...jose.JSONWebKey) *server {
	t.Helper()
	s := &server{asked: map[string]int{}}
	s.publish(keys...)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	keys, status, delay, meta := s.keys, s.status, s.delay, s.meta
	s.mu.Unlock()
	switch {
	case status != 0:
		w.Header().Set("Location", s.URL+"/keys")
		w.WriteHeader(status)
	case r.URL.Path == "/.well-known/openid-configuration":
		said := map[string]any{"issuer": s.URL, "jwks_uri": s.URL + "/keys"}
		if meta != nil {
			said = meta(s.URL)
		}
		_ = json.NewEncoder(w).Encode(said)
	case r.URL.Path == "/keys":
		if delay != nil {
			<-delay
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	default:
		http.NotFound(w, r)
	}
}

func (s *server) publish(keys ...jose.JSONWebKey) {
	public := []any{}
	for _, k := range keys {
		if k.IsPublic() || !k.Valid() {
			public = append(public, k)
			continue
		}
		public = append(public, k.Public())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = public
}

func (s *server) fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *server) times(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func newIssuer(t *testing.T, s *server, change func(*oidc.Options)) *oidc.Issuer {
	t.Helper()
	opt := oidc.Options{Issuer: s.URL, Audiences: []string{audience}, Client: s.Client()}
	if change != nil {
		change(&opt)
	}
	i, err := oidc.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func rsaKey(t testing.TB, id string, bits int) jose.JSONWebKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	return jwk(t, id, key, err)
}

func ecKey(t testing.TB, id string, curve elliptic.Curve) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	return jwk(t, id, key, err)
}

func edKey(t testing.TB, id string) jose.JSONWebKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return jwk(t, id, key, err)
}

func jwk(t testing.TB, id string, key crypto.PrivateKey, err error) jose.JSONWebKey {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: id}
}

// said is a token's claims; good ones unless a test changes them.
type said = map[string]any

func claims(s *server, changes said) said {
	now := time.Now()
	c := said{"iss": s.URL, "aud": audience, "sub": "alice", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, v := range changes {
		if v == nil {
			delete(c, name)
			continue
		}
		c[name] = v
	}
	return c
}

// sign makes a token; headers are in pairs.
func sign(t testing.TB, key any, alg jose.SignatureAlgorithm, c any, headers ...string) string {
	t.Helper()
	opt := &jose.SignerOptions{}
	for i := 0; i+1 < len(headers); i += 2 {
		opt.WithHeader(jose.HeaderKey(headers[i]), headers[i+1])
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opt)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// bubbleServer is a server without a network, for a client of inside.
func bubbleServer(keys ...jose.JSONWebKey) *server {
	s := &server{Server: &httptest.Server{URL: "https://login.example.com"}, asked: map[string]int{}}
	s.publish(keys...)
	return s
}

// recorder is what a handler answers.
type recorder struct{ *httptest.ResponseRecorder }

func newRecorder() recorder { return recorder{httptest.NewRecorder()} }

func (r recorder) response(to *http.Request) *http.Response {
	resp := r.Result()
	resp.Request = to
	return resp
}
