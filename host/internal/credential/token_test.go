package credential

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/sdk/failure"
)

func tokenError(t *testing.T, k *Keeper, s Settings, need Need) error {
	t.Helper()
	tok, err := k.Token(t.Context(), s, need)
	if err == nil {
		t.Fatalf("a token: %+v", tok)
	}
	return err
}

// clock is a clock that a test sets.

// A token is refreshed before its end, and with the resource it is for.

// Ahead of its end a token that cannot be refreshed is still good.

// What a server says of a lifetime, or does not, costs no more than a refresh for

// each call.

// A grant that is dead is marked once, and nothing of it is deleted.

// A registration that its server has forgotten is made again by the next login.

// A server that refuses every token ends a call after one more.

// Scopes that a server asks for are asked of the person together with those there

// were.

func TestStepUp(t *testing.T) {
	as := fakeauth.Start(t)
	as.Scopes = []string{"read", "write", "admin"}
	as.Need = []string{"read"}
	k := open(t)
	s := settings(as)
	st := mustLogin(t, k, s)
	if got := strings.Join(st.Scopes, " "); got != "read" {
		t.Errorf("scopes %q: the challenge says which", got)
	}
	as.Change(func() { as.Need = []string{"write"} })
	tok := mustToken(t, k, s, Need{})
	need := Need{Rejected: tok.Value, Challenge: `Bearer error="insufficient_scope", scope="write"`}
	f := wantFailure(t, tokenError(t, k, s, need), failure.AuthFailure)
	if !strings.Contains(f.Message, `"write"`) || !strings.Contains(f.Message, "collet auth login docs") {
		t.Errorf("message %q", f.Message)
	}
	st = mustLogin(t, k, s)
	if got := strings.Join(st.Scopes, " "); got != "read write" || st.Wanted != nil {
		t.Errorf("scopes %q, wanted %q", got, st.Wanted)
	}
	if err := call(t.Context(), k, s); err != nil {
		t.Error(err)
	}
	// A server that is never satisfied.
	tok = mustToken(t, k, s, Need{})
	need.Rejected = tok.Value
	if f := wantFailure(t, tokenError(t, k, s, need), failure.AuthFailure); !strings.Contains(f.Message, "although it has those") {
		t.Errorf("message %q", f.Message)
	}
	if f := wantFailure(t, tokenError(t, k, s, Need{Scopes: []string{"admin"}}), failure.AuthFailure); !strings.Contains(f.Message, `"admin"`) {
		t.Errorf("message %q", f.Message)
	}
	if st, _ := k.Status(t.Context(), s); strings.Join(st.Wanted, " ") != "admin" {
		t.Errorf("wanted %q", st.Wanted)
	}
}

func TestWanted(t *testing.T) {
	l := func(s string) []string { return strings.Fields(s) }
	for _, test := range []struct{ configured, asked, supported, earlier, want string }{
		{"", "", "", "", ""},
		{"", "", "s", "", "s"},
		{"", "a", "s", "", "a"},
		{"c", "", "s", "", "c"},
		{"c", "a", "s", "", "c a"},
		{"", "a", "s", "e a", "e a"},
	} {
		got := wanted(l(test.configured), l(test.asked), l(test.supported), l(test.earlier))
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// Tokens of another server, issuer or client are none.

func TestKeys(t *testing.T) {
	as := fakeauth.Start(t)
	as.Clients["mine"] = ""
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	renamed, other, issuer, client := s, s, s, s
	renamed.Server = "another-name"
	other.Resource += "2"
	issuer.Issuer = "https://other.example"
	client.ClientID = "mine"
	mustToken(t, k, renamed, Need{})
	for name, s := range map[string]Settings{"resource": other, "issuer": issuer, "client": client} {
		if f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure); !strings.Contains(f.Message, "collet auth login docs") {
			t.Errorf("%s: %q", name, f.Message)
		}
	}
	if st := mustLogin(t, k, client); st.ClientID != "mine" || st.Registered != "configured" {
		t.Errorf("%+v", st)
	}
	if f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure); !strings.Contains(f.Message, "another client_id") {
		t.Errorf("the configured client is gone: %q", f.Message)
	}
}

// New tokens that cannot be written serve this process, and are written later.

// A caller that gives up ends no refresh, and Close waits for it.

// Whoever logs out while a refresh is under way stays logged out.

// A token endpoint that has moved is found again.

// Where nothing asks for a credential there is nothing to log in to.

func TestNothingToLogInTo(t *testing.T) {
	var registered atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		case "/register":
			registered.Store(true)
			fallthrough
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	_, err := open(t).Login(t.Context(), Settings{Server: "docs", Resource: srv.URL + "/mcp"}, Need{}, &visitor{})
	if err == nil || !strings.Contains(err.Error(), "nothing to log in to") || registered.Load() {
		t.Errorf("%v", err)
	}
}

// Secrets are told to whoever keeps output free of them before anybody else hears of

// them, and are in no error, no log and no status.

func TestSecrets(t *testing.T) {
	as := fakeauth.Start(t)
	as.AuthMethods = []string{"client_secret_post"}
	var mu sync.Mutex
	told := map[string]bool{}
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "c.json")
	k := Open(Options{
		Path: path, Keyring: KeyringOff, Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Secret: func(s string) {
			mu.Lock()
			defer mu.Unlock()
			told[s] = true
		},
	})
	s := settings(as)
	st := mustLogin(t, k, s)
	var out []string
	out = append(out, fmt.Sprintf("%+v", st))
	as.Change(func() {
		as.Fault = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n%2 == 0 {
				w.WriteHeader(http.StatusInternalServerError)
				io.WriteString(w, r.Form.Encode()) // it quotes what it was sent
			}
			return n%2 == 0
		}
	})
	outdate(t, as, path)
	mustToken(t, k, s, Need{})
	as.Change(func() { as.Fault = nil })
	as.RevokeAll()
	outdate(t, as, path)
	out = append(out, tokenError(t, k, s, Need{}).Error(), fmt.Sprintf("%+v", tokenError(t, k, s, Need{})))
	k.Close()
	out = append(out, log.String())
	c, err := k.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	e := c.Credentials[0]
	secrets := []string{e.Access, e.Refresh, e.Client.Secret}
	for _, ev := range as.Events("/token") {
		for _, name := range []string{"code", "refresh_token", "client_secret"} {
			if v := ev.Form.Get(name); v != "" {
				secrets = append(secrets, v)
			}
		}
	}
	for _, secret := range secrets {
		if secret == "" || !told[secret] {
			t.Errorf("nobody was told of %q", secret)
		}
		for _, text := range out {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
	}
}
