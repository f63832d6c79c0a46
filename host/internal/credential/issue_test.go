package credential

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/sdk/failure"
)

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
