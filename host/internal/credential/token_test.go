package credential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/host/internal/credential/store"
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
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// A token is refreshed before its end, and with the resource it is for.
func TestAhead(t *testing.T) {
	as := fakeauth.Start(t)
	var c clock
	k := openAt(t, filepath.Join(t.TempDir(), "c.json"), c.now)
	s := settings(as)
	mustLogin(t, k, s)
	first := mustToken(t, k, s, Need{})
	c.set(58 * time.Minute)
	if tok := mustToken(t, k, s, Need{}); tok.Value != first.Value {
		t.Error("refreshed too early")
	}
	c.set(59*time.Minute + 30*time.Second)
	second := mustToken(t, k, s, Need{})
	if second.Value == first.Value || !as.Accepts(second.Value) {
		t.Errorf("not refreshed: %+v", second)
	}
	if e := as.Events("/token"); e[len(e)-1].Form.Get("resource") != as.Resource() {
		t.Errorf("refreshed without the resource: %v", e[len(e)-1].Form)
	}
	// An adapter that still has the first one gets the second, without a refresh.
	if tok := mustToken(t, k, s, Need{Rejected: first.Value}); tok != second {
		t.Errorf("%+v, want %+v", tok, second)
	}
	// A clock that jumps costs a refresh and no login.
	for _, jump := range []time.Duration{48 * time.Hour, -48 * time.Hour, 0} {
		c.set(jump)
		if tok := mustToken(t, k, s, Need{}); !as.Accepts(tok.Value) {
			t.Errorf("after a jump by %s: %+v", jump, tok)
		}
	}
	if c := as.Counts(); c.Refreshes > 4 || c.Reuses != 0 || c.Authorizations != 1 {
		t.Errorf("%+v", c)
	}
}

// Ahead of its end a token that cannot be refreshed is still good.
func TestAheadWithFaults(t *testing.T) {
	as := fakeauth.Start(t)
	var c clock
	k := openAt(t, filepath.Join(t.TempDir(), "c.json"), c.now)
	s := settings(as)
	mustLogin(t, k, s)
	first := mustToken(t, k, s, Need{})
	as.Change(func() {
		as.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "", http.StatusInternalServerError)
			return true
		}
	})
	c.set(59*time.Minute + 30*time.Second)
	before := as.Counts().TokenRequests
	for range 3 {
		if tok := mustToken(t, k, s, Need{}); tok != first {
			t.Errorf("%+v, want the one that is good for half a minute", tok)
		}
	}
	if n := as.Counts().TokenRequests - before; n != len(attempts) {
		t.Errorf("%d requests: it was not left alone for a while", n)
	}
	c.set(61 * time.Minute)
	f := wantFailure(t, tokenError(t, k, s, Need{}), failure.ServerError)
	if f.UpstreamCode != 500 || !strings.Contains(f.Message, "refresh the token for docs") || strings.Contains(f.Message, "auth login") {
		t.Errorf("failure %+v", f)
	}
	if st, _ := k.Status(t.Context(), s); st.State != LoggedIn {
		t.Errorf("status %+v", st)
	}
	as.Change(func() { as.Fault = nil })
	c.set(62 * time.Minute)
	if tok := mustToken(t, k, s, Need{}); !as.Accepts(tok.Value) {
		t.Errorf("%+v", tok)
	}
}

// What a server says of a lifetime, or does not, costs no more than a refresh for
// each call.
func TestLifetimes(t *testing.T) {
	for lifetime, most := range map[string]int{"-": 0, "0": 3, `"3600"`: 0, "3600.5": 0, `"3600abc"`: 0, "-1": 3, "null": 0} {
		as := fakeauth.Start(t)
		as.ExpiresIn = lifetime
		k := open(t)
		s := settings(as)
		mustLogin(t, k, s)
		for range 3 {
			if err := call(t.Context(), k, s); err != nil {
				t.Errorf("%s: %v", lifetime, err)
			}
		}
		if n := as.Counts().Refreshes; n > most {
			t.Errorf("%s: %d refreshes for 3 calls", lifetime, n)
		}
	}
}

// A grant that is dead is marked once, and nothing of it is deleted.
func TestInvalidGrant(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	tok := mustToken(t, k, s, Need{})
	as.RevokeAll()
	outdate(t, as, k.opt.Path)
	before := as.Counts().TokenRequests
	var first string
	for range 3 {
		f := wantFailure(t, tokenError(t, k, s, Need{Rejected: tok.Value}), failure.AuthFailure)
		if !strings.HasSuffix(f.Message, "; run: collet auth login docs") || !strings.Contains(f.Message, "invalid_grant") {
			t.Errorf("message %q", f.Message)
		}
		if first == "" {
			first = f.Message
		}
		if f.Message != first {
			t.Errorf("another message: %q", f.Message)
		}
	}
	if n := as.Counts().TokenRequests - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if st, _ := k.Status(t.Context(), s); st.State != NeedsLogin || st.Reason == "" || st.Refreshable {
		t.Errorf("status %+v", st)
	}
	if c, _ := k.store.Read(); c.Credentials[0].Refresh == "" || c.Credentials[0].Access == "" {
		t.Error("the credential was deleted")
	}
	mustLogin(t, k, s)
	mustToken(t, k, s, Need{Rejected: tok.Value})
}

// A registration that its server has forgotten is made again by the next login.
func TestForgottenClient(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	as.Forget()
	outdate(t, as, k.opt.Path)
	f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure)
	if !strings.Contains(f.Message, "invalid_client") || !strings.Contains(f.Message, "collet auth login docs") {
		t.Errorf("message %q", f.Message)
	}
	mustLogin(t, k, s)
	if c := as.Counts(); c.Registrations != 2 {
		t.Errorf("%+v", c)
	}
	if err := call(t.Context(), k, s); err != nil {
		t.Error(err)
	}
}

// A server that refuses every token ends a call after one more.
func TestAlwaysRefused(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	tok := mustToken(t, k, s, Need{})
	ctx := t.Context()
	before := as.Counts().TokenRequests
	const refusal = `Bearer error="invalid_token", error_description="no such audience"`
	for range 5 {
		next, err := k.Token(ctx, s, Need{Rejected: tok.Value, Challenge: refusal})
		if err != nil {
			f := wantFailure(t, err, failure.AuthFailure)
			if !strings.Contains(f.Message, "no such audience") {
				t.Errorf("message %q", f.Message)
			}
			break
		}
		tok = next
	}
	if n := as.Counts().TokenRequests - before; n > 2 {
		t.Errorf("%d requests for tokens", n)
	}
}

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

func TestClientCredentials(t *testing.T) {
	as := fakeauth.Start(t)
	as.Clients["robot"] = "s3cret"
	var c clock
	k := openAt(t, filepath.Join(t.TempDir(), "c.json"), c.now)
	s := settings(as)
	s.Grant, s.ClientID, s.ClientSecret = ClientCredentials, "robot", "s3cret"
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if err := call(context.Background(), k, s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := as.Counts().Credentials; n != 1 {
		t.Errorf("%d tokens for %d callers", n, callers)
	}
	as.Expire()
	c.set(2 * justIssued) // a token's refusal is believed when it has some age
	if err := call(t.Context(), k, s); err != nil {
		t.Error(err)
	}
	// Scopes need nobody here.
	as.Change(func() { as.Need = []string{"write"} })
	tok := mustToken(t, k, s, Need{})
	c.set(4 * justIssued)
	next := mustToken(t, k, s, Need{Rejected: tok.Value, Challenge: `Bearer error="insufficient_scope", scope="write"`})
	if next.Value == tok.Value {
		t.Error("no other token")
	}
	if _, err := os.Stat(k.opt.Path); err == nil {
		t.Error("it was stored")
	}
	if st, err := k.Status(t.Context(), s); err != nil || st.State != LoggedIn || strings.Join(st.Scopes, " ") != "write" {
		t.Errorf("%+v, %v", st, err)
	}
	s.ClientSecret = "wrong"
	k2 := open(t)
	f := wantFailure(t, tokenError(t, k2, s, Need{}), failure.AuthFailure)
	if strings.Contains(f.Message, "wrong") || !strings.Contains(f.Message, "invalid_client") {
		t.Errorf("message %q", f.Message)
	}
}

func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for sh")
	}
	k := open(t)
	count := filepath.Join(t.TempDir(), "count")
	s := Settings{Server: "docs", Resource: "https://mcp.example/mcp", Grant: Command}
	s.Command = "echo x >> " + count + `; echo "$COLLET_SERVER-$COLLET_RESOURCE"`
	for range 3 {
		if tok := mustToken(t, k, s, Need{}); tok.Value != "docs-https://mcp.example/mcp" || !tok.Expiry.IsZero() {
			t.Errorf("%+v", tok)
		}
	}
	if ran, _ := os.ReadFile(count); len(ran) != 2 {
		t.Errorf("ran %q", ran)
	}
	s.Command = `echo '{"access_token":"a","expires_in":3600}'`
	if tok := mustToken(t, k, s, Need{}); tok.Value != "a" || time.Until(tok.Expiry) < time.Minute {
		t.Errorf("%+v", tok)
	}
	if f := wantFailure(t, tokenError(t, k, s, Need{Rejected: "a", Challenge: `Bearer error="invalid_token"`}), failure.AuthFailure); !strings.Contains(f.Message, "refuses the token") {
		t.Errorf("message %q", f.Message)
	}
	for command, want := range map[string]string{
		"echo CANARY; exit 3": "exit status 3", "true": "neither a token", "echo 'CANARY two'": "neither a token", `echo '{"x":"CANARY"}'`: "neither a token",
		"head -c 70000 /dev/zero | tr '\\0' A": "more than",
	} {
		s.Command = command
		f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure)
		if !strings.Contains(f.Message, want) || strings.Contains(f.Message, "CANARY") {
			t.Errorf("%s: %q, want %q", command, f.Message, want)
		}
	}
}

func TestDevice(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	s.Grant = Device
	v := &visitor{shown: make(chan DeviceCode, 1)}
	go func() {
		<-v.shown
		as.Allow()
	}()
	st, err := k.Login(t.Context(), s, Need{}, v)
	if err != nil || st.State != LoggedIn || v.code.UserCode != "WDJB-MJHT" || v.code.URL != as.URL+"/enter" {
		t.Fatalf("%+v, %v, %+v", st, err, v.code)
	}
	if err := call(t.Context(), k, s); err != nil {
		t.Error(err)
	}
	as.Change(func() {
		as.Mutate = func(_ string, doc map[string]any) { delete(doc, "device_authorization_endpoint") }
	})
	if _, err := k.Login(t.Context(), s, Need{}, v); err == nil || !strings.Contains(err.Error(), "device_authorization_endpoint") {
		t.Errorf("%v", err)
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
func TestUnwritable(t *testing.T) {
	as := fakeauth.Start(t)
	var c clock
	k := openAt(t, filepath.Join(t.TempDir(), "c.json"), c.now)
	s := settings(as)
	mustLogin(t, k, s)
	outdate(t, as, k.opt.Path)
	as.Change(func() {
		as.After = func(int, http.ResponseWriter, *http.Request) bool {
			// The file is taken away while the answer is under way: what replaces it is no
			// store.
			if err := errors.Join(os.Rename(k.opt.Path, k.opt.Path+".old"), os.Mkdir(k.opt.Path, 0o700)); err != nil {
				t.Error(err)
			}
			return false
		}
	})
	tok := mustToken(t, k, s, Need{})
	if !as.Accepts(tok.Value) {
		t.Errorf("%+v", tok)
	}
	as.Change(func() { as.After = nil })
	if err := errors.Join(os.Remove(k.opt.Path), os.Rename(k.opt.Path+".old", k.opt.Path)); err != nil {
		t.Fatal(err)
	}
	if again := mustToken(t, k, s, Need{}); again != tok {
		t.Errorf("%+v, want %+v", again, tok)
	}
	as.Expire()
	c.set(2 * justIssued)
	next := mustToken(t, k, s, Need{Rejected: tok.Value})
	if c, _ := (&store.Store{Path: k.opt.Path}).Read(); c.Credentials[0].Access != next.Value {
		t.Error("it was not written when it could be")
	}
	if c := as.Counts(); c.Reuses != 0 {
		t.Errorf("%+v", c)
	}
}

// A caller that gives up ends no refresh, and Close waits for it.
func TestGivenUp(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	reached, release := make(chan struct{}), make(chan struct{})
	as.Change(func() {
		as.After = func(int, http.ResponseWriter, *http.Request) bool {
			close(reached)
			<-release
			return false
		}
	})
	outdate(t, as, k.opt.Path)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	_, err := k.Token(ctx, s, Need{})
	wantFailure(t, err, failure.Canceled)
	closed := make(chan struct{})
	go func() {
		k.Close()
		close(closed)
	}()
	close(release)
	<-closed
	if tok := mustToken(t, openAt(t, k.opt.Path, nil), s, Need{}); !as.Accepts(tok.Value) {
		t.Errorf("%+v", tok)
	}
	if c := as.Counts(); c.Refreshes != 1 || c.Reuses != 0 {
		t.Errorf("%+v", c)
	}
}

// Whoever logs out while a refresh is under way stays logged out.
func TestLogoutMeanwhile(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	outdate(t, as, k.opt.Path)
	as.Change(func() {
		as.After = func(n int, _ http.ResponseWriter, r *http.Request) bool {
			if r.Form.Get("grant_type") == "refresh_token" {
				if err := openAt(t, k.opt.Path, nil).Logout(context.Background(), s); err != nil {
					t.Error(err)
				}
			}
			return false
		}
	})
	if f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure); !strings.Contains(f.Message, "logged out meanwhile") {
		t.Errorf("message %q", f.Message)
	}
	if st, _ := k.Status(t.Context(), s); st.State != LoggedOut {
		t.Errorf("%+v", st)
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

func TestCheck(t *testing.T) {
	good := Settings{Server: "s", Resource: "https://mcp.example/mcp"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Settings){
		"grant":                     func(s *Settings) { s.Grant = "password" },
		"needs the URL":             func(s *Settings) { s.Resource = "" },
		"http is for this machine":  func(s *Settings) { s.Resource = "http://mcp.example/" },
		"the issuer":                func(s *Settings) { s.Issuer = "as.example" },
		"needs client_id":           func(s *Settings) { s.Grant = ClientCredentials },
		"needs its client_id":       func(s *Settings) { s.ClientSecret = "x" },
		"redirect host":             func(s *Settings) { s.RedirectHost = "0.0.0.0" },
		"redirect port":             func(s *Settings) { s.RedirectPort = 70000 },
		"must be https with a path": func(s *Settings) { s.ClientMetadataURL = "https://collet.example" },
		"needs a command":           func(s *Settings) { s.Grant = Command },
		"a command is for":          func(s *Settings) { s.Command = "x" },
	} {
		s := good
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		k := open(t)
		if _, err := k.Token(t.Context(), s, Need{}); err == nil {
			t.Errorf("%s: a token", want)
		} else {
			wantFailure(t, err, failure.InvalidArguments)
		}
	}
}
