package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/host/internal/credential/store"
	"github.com/collet-dev/collet/sdk/failure"
)

type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

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
	stored := func() string {
		t.Helper()
		c, err := (&store.Store{Path: k.opt.Path}).Read()
		if err != nil || len(c.Credentials) != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
		return c.Credentials[0].Access
	}
	if stored() == tok.Value {
		t.Fatal("it was written, and nothing is tested")
	}
	// A later use writes it, once that is possible.
	c.set(2 * savePause)
	if again := mustToken(t, k, s, Need{}); again != tok || stored() != tok.Value {
		t.Errorf("%+v was not written when it could be", tok)
	}
	as.Expire()
	c.set(2*savePause + 2*justIssued)
	if next := mustToken(t, k, s, Need{Rejected: tok.Value}); stored() != next.Value {
		t.Error("the next one was not written")
	}
	if c := as.Counts(); c.Reuses != 0 {
		t.Errorf("%+v", c)
	}
}

// What could not be written is written by the end of the process, or given back by a
// logout.
func TestUnwrittenAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(*Keeper, Settings) error{
		"close":  func(k *Keeper, _ Settings) error { k.Close(); return nil },
		"logout": func(k *Keeper, s Settings) error { return k.Logout(context.Background(), s) },
	} {
		as := fakeauth.Start(t)
		k := open(t)
		s := settings(as)
		mustLogin(t, k, s)
		outdate(t, as, k.opt.Path)
		as.Change(func() {
			as.After = func(int, http.ResponseWriter, *http.Request) bool {
				if err := errors.Join(os.Rename(k.opt.Path, k.opt.Path+".old"), os.Mkdir(k.opt.Path, 0o700)); err != nil {
					t.Error(err)
				}
				return false
			}
		})
		tok := mustToken(t, k, s, Need{})
		as.Change(func() { as.After = nil })
		if err := errors.Join(os.Remove(k.opt.Path), os.Rename(k.opt.Path+".old", k.opt.Path)); err != nil {
			t.Fatal(err)
		}
		if err := end(k, s); err != nil {
			t.Error(err)
		}
		if name == "logout" {
			if _, good := as.Families(); good != 0 {
				t.Error("the token that was not written is good after the logout")
			}
			continue
		}
		if got := mustToken(t, openAt(t, k.opt.Path, nil), s, Need{}); got.Value != tok.Value {
			t.Errorf("%s: the next process has %+v, want %+v", name, got, tok)
		}
	}
}

// Nobody is asked for a token that could not be kept.
func TestNoRoom(t *testing.T) {
	as := fakeauth.Start(t)
	var c clock
	k := openAt(t, filepath.Join(t.TempDir(), "c.json"), c.now)
	s := settings(as)
	mustLogin(t, k, s)
	first := mustToken(t, k, s, Need{})
	stored, _ := k.credential(s)
	taken := k.beside(*stored, ".next") // by what is no file, and cannot be removed
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	requests := as.Counts().TokenRequests
	c.set(59*time.Minute + 30*time.Second)
	if tok := mustToken(t, k, s, Need{}); tok != first {
		t.Errorf("%+v, want the one that is good for half a minute", tok)
	}
	c.set(61 * time.Minute)
	f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure)
	for _, want := range []string{"the new credentials of docs cannot be kept: ", filepath.Base(taken), "; make sure that collet can write there, and call again"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q, want %q", f.Message, want)
		}
	}
	if f.Delivery != failure.NotSent || strings.Contains(f.Message, "auth login") || strings.Contains(f.Message, first.Value) {
		t.Errorf("%+v", f)
	}
	if n := as.Counts().TokenRequests - requests; n != 0 {
		t.Errorf("%d requests for tokens that could not be kept", n)
	}
	if err := os.RemoveAll(taken); err != nil {
		t.Fatal(err)
	}
	c.set(61*time.Minute + coolFirst)
	if tok := mustToken(t, k, s, Need{}); !as.Accepts(tok.Value) {
		t.Errorf("%+v", tok)
	}
	if left, _ := filepath.Glob(k.opt.Path + ".*.next"); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

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
	if _, good := as.Families(); good != 0 {
		t.Error("what was issued last is still good")
	}
}

func TestMoved(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	outdate(t, as, k.opt.Path)
	st := &store.Store{Path: k.opt.Path}
	err := st.Change(t.Context(), func(c *store.Contents) error {
		c.Credentials[0].TokenEndpoint = as.URL + "/old/token"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := call(t.Context(), k, s); err != nil {
		t.Error(err)
	}
	if c, _ := k.store.Read(); c.Credentials[0].TokenEndpoint != as.URL+"/token" {
		t.Errorf("it was not remembered: %s", c.Credentials[0].TokenEndpoint)
	}
}

// An authorization server that quotes what it was sent has it in no status, of no
// process.
func TestRefusalIsNoLeak(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	s := settings(as)
	mustLogin(t, k, s)
	tok := mustToken(t, k, s, Need{})
	outdate(t, as, k.opt.Path)
	var sent string
	as.Change(func() {
		as.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			sent = r.FormValue("refresh_token")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"%s is not known"}`, sent)
			return true
		}
	})
	f := wantFailure(t, tokenError(t, k, s, Need{Rejected: tok.Value}), failure.AuthFailure)
	st, err := (&Keeper{opt: k.opt, store: &store.Store{Path: k.opt.Path}}).Status(t.Context(), s)
	if err != nil || sent == "" || strings.Contains(f.Message+st.Reason, sent) || !strings.Contains(st.Reason, "[token] is not known") {
		t.Errorf("%q: %s; %s (%v)", sent, f.Message, st.Reason, err)
	}
}
