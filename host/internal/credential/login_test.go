package credential

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/sdk/failure"
)

// open returns a Keeper with a store of its own.
func open(t *testing.T) *Keeper {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "config", "credentials.json"), nil)
}

func openAt(t *testing.T, path string, now func() time.Time) *Keeper {
	t.Helper()
	k := Open(Options{Path: path, Keyring: KeyringOff, Version: "1.2.3", Now: now})
	t.Cleanup(k.Close)
	return k
}

func settings(s *fakeauth.Server) Settings { return Settings{Server: "docs", Resource: s.Resource()} }

// visitor is a person whose browser does what the authorization server says.
type visitor struct {
	uri      string // of the listener
	want     Redirect
	visited  string
	code     DeviceCode
	callback func(string) string // changes what comes back
	shown    chan DeviceCode
}

func (v *visitor) Listen(_ context.Context, want Redirect) (string, error) {
	v.want = want
	if v.uri == "" {
		v.uri = "http://127.0.0.1:40001/callback"
	}
	return v.uri, nil
}

func (v *visitor) Authorize(ctx context.Context, at string) (string, error) {
	v.visited = at
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	back := resp.Header.Get("Location")
	if back == "" {
		return "", errors.New("the browser was not sent back: " + resp.Status)
	}
	if v.callback != nil {
		back = v.callback(back)
	}
	return back, nil
}

func (v *visitor) ShowCode(_ context.Context, code DeviceCode) error {
	v.code = code
	if v.shown != nil {
		v.shown <- code
	}
	return nil
}

func mustLogin(t *testing.T, k *Keeper, s Settings) Status {
	t.Helper()
	st, err := k.Login(t.Context(), s, Need{}, &visitor{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func mustToken(t *testing.T, k *Keeper, s Settings, need Need) Token {
	t.Helper()
	tok, err := k.Token(t.Context(), s, need)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func wantFailure(t *testing.T, err error, class failure.Class) *failure.Failure {
	t.Helper()
	f, ok := errors.AsType[*failure.Failure](err)
	if !ok || f.Class != class || f.Delivery != failure.NotSent {
		t.Fatalf("error %v (%+v), want %s, not-sent", err, f, class)
	}
	return f
}

// A person logs in once; then tokens come without one.
func TestLogin(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	f := wantFailure(t, func() error { _, err := k.Token(t.Context(), s, Need{}); return err }(), failure.AuthFailure)
	if want := "no credential for " + as.Resource() + ": nobody has logged in yet; run: collet auth login docs"; f.Message != want {
		t.Errorf("message %q, want %q", f.Message, want)
	}
	st := mustLogin(t, k, s)
	if st.State != LoggedIn || st.Issuer != as.Issuer() || st.Resource != as.Resource() || st.Registered != "dynamic" || !st.Refreshable {
		t.Errorf("status %+v", st)
	}
	tok := mustToken(t, k, s, Need{})
	if !as.Accepts(tok.Value) || tok.Scheme != "Bearer" || time.Until(tok.Expiry) < time.Minute {
		t.Errorf("token %+v", tok)
	}
	for _, e := range append(as.Events("/authorize"), as.Events("/token")...) {
		if e.Form.Get("resource") != as.Resource() {
			t.Errorf("%s without its resource: %v", e.Path, e.Form)
		}
	}
	authorize, exchange := as.Events("/authorize")[0].Form, as.Events("/token")[0].Form
	if authorize.Get("redirect_uri") != exchange.Get("redirect_uri") {
		t.Errorf("redirect_uri %q, then %q", authorize.Get("redirect_uri"), exchange.Get("redirect_uri"))
	}
	// Another process finds it.
	if other := mustToken(t, openAt(t, k.opt.Path, nil), s, Need{}); other != tok {
		t.Errorf("another process has %+v, want %+v", other, tok)
	}
}

func TestLogout(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	tok := mustToken(t, k, s, Need{})
	if err := k.Logout(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if as.Accepts(tok.Value) {
		t.Error("the token is still good")
	}
	if _, good := as.Families(); good != 0 {
		t.Error("the refresh token was not revoked")
	}
	if st, err := k.Status(t.Context(), s); err != nil || st.State != LoggedOut {
		t.Errorf("status %+v, %v", st, err)
	}
	if err := k.Logout(t.Context(), s); err != nil {
		t.Errorf("logged out twice: %v", err)
	}
}

// What comes back to the browser counts only when it is this login's.
func TestCallbacks(t *testing.T) {
	as := fakeauth.Start(t)
	change := func(f func(url.Values)) func(string) string {
		return func(back string) string {
			u, _ := url.Parse(back)
			q := u.Query()
			f(q)
			u.RawQuery = q.Encode()
			return u.String()
		}
	}
	for name, callback := range map[string]func(string) string{
		"another state":  change(func(q url.Values) { q.Set("state", "x") }),
		"no state":       change(func(q url.Values) { q.Del("state") }),
		"another issuer": change(func(q url.Values) { q.Set("iss", "https://evil.example") }),
		"no issuer":      change(func(q url.Values) { q.Del("iss") }),
		"denied":         change(func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }),
		"no code":        change(func(q url.Values) { q.Del("code") }),
		"a forged code":  change(func(q url.Values) { q.Set("code", "forged") }),
	} {
		k := open(t)
		_, err := k.Login(t.Context(), settings(as), Need{}, &visitor{callback: callback})
		if err == nil {
			t.Errorf("%s: logged in", name)
		}
		if st, _ := k.Status(t.Context(), settings(as)); st.State != LoggedOut {
			t.Errorf("%s: state %s", name, st.State)
		}
	}
	// The query alone is as good as the URL.
	k := open(t)
	_, err := k.Login(t.Context(), settings(as), Need{}, &visitor{callback: func(back string) string {
		u, _ := url.Parse(back)
		return "?" + u.RawQuery + "\n"
	}})
	if err != nil {
		t.Error(err)
	}
}
