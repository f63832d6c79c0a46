package guard_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/collet-dev/collet/host/internal/front/guard/tokenfile"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// All kinds of credentials at one server: each is who it is, and none of what was
// sent is in an answer, an error or the log.
func TestAllCredentialsTogether(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shared, err := tokenfile.Shared(file("shared", canary+"-shared\n"))
	if err != nil {
		t.Fatal(err)
	}
	scopedText := func(expires string) string {
		return fmt.Sprintf("[tokens.ci]\nsha256 = \"%x\"\nservers = [\"docs\"]\nexpires = %s\n", sha256.Sum256([]byte(canary+"-scoped")), expires)
	}
	scoped, err := tokenfile.Scoped(file("scoped", scopedText("2999-01-01T00:00:00Z")))
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := jose.JSONWebKey{Key: private, KeyID: "k"}
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{key.Public()}})
	}))
	defer login.Close()
	issuer, err := oidc.New(oidc.Options{Issuer: login.URL, JWKS: login.URL, Audiences: []string{"collet"}, Client: login.Client(), Scopes: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	defer issuer.Close()
	sign := func(scope string, lasts time.Duration) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Signed(signer).Claims(map[string]any{
			"iss": login.URL, "aud": "collet", "sub": "alice", "scope": scope, "jti": canary, "exp": time.Now().Add(lasts).Unix(),
		}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}

	p := serve(t, guard.Options{
		Auth: []guard.Authenticator{shared, scoped, issuer}, Issuers: []string{login.URL}, Scopes: []string{"mcp"},
	}, echo)
	sent := []string{}
	check := func(token string, status int, want string) {
		t.Helper()
		sent = append(sent, token)
		resp, body := p.do(t, "POST", "/mcp", "Authorization: Bearer "+token)
		if got := body; resp.StatusCode != status || !strings.Contains(got+resp.Header.Get("WWW-Authenticate"), want) {
			t.Errorf("%d %s %s; want %d and %q", resp.StatusCode, got, resp.Header.Get("WWW-Authenticate"), status, want)
		}
		if text := body + fmt.Sprint(resp.Header); strings.Contains(text, token) {
			t.Errorf("the answer holds the token: %s", text)
		}
	}
	check(canary+"-shared", 200, "for shared")
	check(canary+"-scoped", 200, "for token:ci")
	check(sign("mcp", time.Hour), 200, "for oidc:"+login.URL+"|alice")
	check(canary+"-other", 401, `error="invalid_token"`)
	check(sign("mcp", -time.Hour), 401, "expired")
	check(sign("other", time.Hour), 403, `error="insufficient_scope", error_description="The token lacks a scope that is needed here.", scope="mcp"`)
	check(sign("mcp", time.Hour)[:60], 401, `error="invalid_token"`)

	file("scoped", scopedText("2000-01-01T00:00:00Z"))
	check(canary+"-scoped", 401, "expired")
	file("scoped", "[tokens.ci]\nsha256 = \""+canary+"-scoped\"\nservers = [\"docs\"]\n")
	check(canary+"-scoped", 503, "cannot be decided")
	if !strings.Contains(p.log.String(), "line 2") || !strings.Contains(p.log.String(), "64 hexadecimal digits") {
		t.Errorf("the log does not say what is wrong with the file: %s", p.log)
	}
	check(canary+"-shared", 200, "for shared") // one broken file is not the other's fault
	for _, token := range sent {
		if strings.Contains(p.log.String(), token) {
			t.Errorf("the log holds a token: %s", p.log)
		}
	}
}
