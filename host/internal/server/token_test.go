package server

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/credential"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// fakeTokens gives one token, and remembers what it was asked.
type fakeTokens struct {
	settings []credential.Settings
	needs    []credential.Need
	err      error
}

func (f *fakeTokens) Token(_ context.Context, s credential.Settings, need credential.Need) (credential.Token, error) {
	f.settings, f.needs = append(f.settings, s), append(f.needs, need)
	return credential.Token{Value: "the-token", Scheme: "Bearer", Expiry: time.Now().Add(time.Minute)}, f.err
}

// An adapter gets tokens for its own entry's resource, and no others.
func TestTokenService(t *testing.T) {
	tokens := &fakeTokens{}
	h := &hostService{questions: &questions{}, tokens: tokens, settings: &credential.Settings{Server: "s", Resource: "https://h.example/mcp"}}
	for resource, may := range map[string]bool{
		"https://h.example/mcp": true, "https://H.example:443/mcp/": true, "https://h.example/mcp/sub?x=1": true,
		"https://h.example/": false, "https://h.example/mcpx": false, "https://h.example/mcp/../other": false, "http://h.example/mcp": false,
		"https://h.example:8443/mcp": false, "https://other.example/mcp": false, "https://user@h.example/mcp": false, "": false, "h.example/mcp": false, "%": false,
	} {
		resp, err := h.Token(t.Context(), &adapterpb.TokenRequest{Resource: resource})
		switch {
		case may && (err != nil || resp.GetToken() != "the-token" || resp.GetScheme() != "Bearer" || resp.GetExpiresIn().AsDuration() <= 0):
			t.Errorf("%s: %v, %v", resource, resp, err)
		case !may && status.Code(err) != codes.PermissionDenied:
			t.Errorf("%s: %v, %v", resource, resp, err)
		}
	}
	tokens.needs = nil
	_, err := h.Token(t.Context(), &adapterpb.TokenRequest{Resource: "https://h.example/mcp", Scopes: []string{"a"}, Rejected: "old", Challenge: "Bearer x=y"})
	if n := tokens.needs; err != nil || len(n) != 1 || !slices.Equal(n[0].Scopes, []string{"a"}) || n[0].Rejected != "old" || n[0].Challenge != "Bearer x=y" {
		t.Errorf("asked for %+v, %v", n, err)
	}
	tokens.err = failure.New(failure.AuthFailure, failure.NotSent, "run: collet auth login s")
	_, err = h.Token(t.Context(), &adapterpb.TokenRequest{Resource: "https://h.example/mcp"})
	if f := failure.FromStatus(err); f == nil || f.Class != failure.AuthFailure || !strings.Contains(f.Message, "collet auth login s") {
		t.Errorf("got %v", err)
	}
	for _, h := range []*hostService{{}, {tokens: tokens}, {settings: h.settings}} {
		if _, err := h.Token(t.Context(), &adapterpb.TokenRequest{Resource: "https://h.example/mcp"}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("without tokens: %v", err)
		}
	}
}

func TestTokenSettings(t *testing.T) {
	for entry, want := range map[string]string{ // resource and grant, "" for none, "!" for an error
		"url = 'https://h/mcp'":                                                        "https://h/mcp ",
		"url = 'http://127.0.0.1:1/mcp'":                                               "http://127.0.0.1:1/mcp ",
		"url = 'http://h/mcp'":                                                         "",
		"url = 'https://me:pw@h/mcp'":                                                  "",
		"url = 'https://h/mcp'\nheaders = { authorization = 'x' }":                     "",
		"url = 'https://h/mcp'\nheaders = { X-Key = 'x' }":                             "https://h/mcp ",
		"url = 'https://h/mcp'\noauth = {}":                                            "https://h/mcp authorization_code",
		"url = 'http://h/mcp'\noauth = {}":                                             "!",
		"command = 'x'":                                                                "",
		"plugin = 'x'\noauth = { resource = 'https://r/', grant = 'device_code' }":     "https://r/ device_code",
		"command = 'x'\noauth = { token_command = 'echo $X' }":                         " command",
		"url = 'https://h/mcp'\noauth = { client_id = 'x', client_secret = '$SECRET'}": "https://h/mcp authorization_code",
	} {
		c := config.Parse("m", []byte("[servers.s]\n"+entry+"\n"))
		if len(c.Problems) > 0 {
			t.Fatal(c.Problems)
		}
		set := c.Servers[0]
		res, err := set.Resolve(t.Context(), config.Resolver{Lookup: func(string) (string, bool) { return "value", true }})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		s, err := TokenSettings(set, res)
		switch {
		case err != nil:
			got = "!"
		case s != nil:
			got = s.Resource + " " + string(s.Grant)
			if s.Command != "" && s.Command != "echo $X" || s.ClientSecret != "" && s.ClientSecret != "value" {
				t.Errorf("%s: %+v", entry, s)
			}
		}
		if got != want {
			t.Errorf("%s: %q, %v, want %q", entry, got, err, want)
		}
	}
}

// A server that was started with a token is stopped before that ends, but not during a
// call, and started with the next use.
func TestStaleToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{})
		launch := v.launch
		v.launch = func(ctx context.Context, set *config.Server) (*run, []*catalog.Tool, *Failure) {
			r, tools, fail := launch(ctx, set)
			r.stale = time.Now().Add(time.Minute)
			return r, tools, fail
		}
		v.must(t)
		time.Sleep(59 * time.Second)
		done := make(chan error, 1)
		go func() { done <- v.call("answer") }() // for 3 s
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if st := v.Status(); st.State != Ready {
			t.Errorf("during a call: %+v", st)
		}
		if err := <-done; err != nil {
			t.Errorf("the call failed: %v", err)
		}
		synctest.Wait()
		if st := v.Status(); st.State != Idle {
			t.Errorf("after the call: %+v", st)
		}
		v.must(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := v.Status(); st.State != Idle || v.starts() != 2 {
			t.Errorf("without a call: %+v, %d starts", st, v.starts())
		}
	})
}

// The token of a server over stdio is in its environment, and ends with it.
func TestStartToken(t *testing.T) {
	tokens := &fakeTokens{}
	s := New(&config.Server{Name: "s", Command: "x"}, Surroundings{Tokens: tokens})
	token, stale, err := s.startToken(t.Context(), s.Settings(), &credential.Settings{})
	if left := time.Until(stale); token != "the-token" || err != nil || left < 50*time.Second || left > 55*time.Second {
		t.Errorf("%q, %v, %v", token, left, err)
	}
	if token, stale, err = s.startToken(t.Context(), &config.Server{URL: "https://h"}, &credential.Settings{}); token != "" || !stale.IsZero() || err != nil {
		t.Errorf("of a url: %q, %v, %v", token, stale, err)
	}
	tokens.err = failure.New(failure.AuthFailure, failure.NotSent, "no")
	if _, _, err := s.startToken(t.Context(), s.Settings(), &credential.Settings{}); !tokenless(err) {
		t.Errorf("got %v", err)
	}
}
