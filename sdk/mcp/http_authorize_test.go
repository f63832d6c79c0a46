package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
)

// Each request asks for its token, so that a new one counts at once and a missing
// one keeps the request here.
func TestAuthorizePerRequest(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = append(seen, r.Header.Get("Authorization")+" "+r.Header.Get("X-Fixed"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		id := string(member(body, "id"))
		if m, _ := text(member(body, "method")); m == "server/discover" {
			io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`)
			return
		}
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[]}}`)
	}))
	defer srv.Close()

	token := "one"
	at := Endpoint{URL: srv.URL, Header: http.Header{"Authorization": {"Bearer fixed"}, "X-Fixed": {"f"}}}
	at.Authorize = func(context.Context) (http.Header, error) {
		if token == "" {
			return nil, errors.New("gh is not there")
		}
		return http.Header{"authorization": {"Bearer " + token}}, nil
	}
	c := dial(t, at, Options{})
	call := func() error {
		_, err := c.CallTool(within(t), "t", nil, RequestOptions{})
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	token = "two"
	if err := call(); err != nil {
		t.Fatal(err)
	}
	token = ""
	f := failure.Classify(call())
	if f.Class != failure.AuthFailure || f.Delivery != failure.NotSent {
		t.Errorf("without a token: %s, %s: %v", f.Class, f.Delivery, f)
	}
	token = "a\r\nX: y"
	if f := failure.Classify(call()); f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent {
		t.Errorf("a token that is no header: %s, %s: %v", f.Class, f.Delivery, f)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"Bearer one f", "Bearer one f", "Bearer two f"}
	if len(seen) != 3 || seen[0] != want[0] || seen[1] != want[1] || seen[2] != want[2] {
		t.Errorf("the server saw %q, want %q", seen, want)
	}
}

// A refused credential is replaced by another one, for the same request, as long as
// there is one, and twice at most.
func TestReauthorize(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	status, challenge := http.StatusUnauthorized, `Bearer error="invalid_token"`
	good := "Bearer good"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		m, _ := text(member(body, "method"))
		got := r.Header.Get("Authorization")
		seen = append(seen, m+" "+got)
		if got != good {
			w.Header().Add("WWW-Authenticate", `Basic realm="x"`)
			w.Header().Add("WWW-Authenticate", challenge)
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		id := string(member(body, "id"))
		if m == "server/discover" {
			io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`)
			return
		}
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[]}}`)
	}))
	defer srv.Close()

	token := "Bearer old"
	var asked []Refusal
	next := func(Refusal) (http.Header, error) { return http.Header{"authorization": {good}}, nil }
	c := dial(t, Endpoint{
		URL:       srv.URL,
		Authorize: func(context.Context) (http.Header, error) { return http.Header{"Authorization": {token}}, nil },
		Reauthorize: func(_ context.Context, r Refusal) (http.Header, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r)
			return next(r)
		},
	}, Options{})
	call := func() *failure.Failure {
		t.Helper()
		mu.Lock()
		seen, asked = nil, nil
		mu.Unlock()
		_, err := c.CallTool(within(t), "t", nil, RequestOptions{})
		return failure.Classify(err)
	}
	if f := call(); f != nil || len(seen) != 2 || seen[0] != "tools/call Bearer old" || seen[1] != "tools/call Bearer good" {
		t.Fatalf("%v, the server saw %q", f, seen)
	}
	if r := asked[0]; r.Status != 401 || r.Challenge != `Basic realm="x", Bearer error="invalid_token"` || r.Header.Get("Authorization") != token {
		t.Errorf("refusal %+v", r)
	}
	next = func(r Refusal) (http.Header, error) {
		return http.Header{"Authorization": {r.Header.Get("Authorization") + "er"}}, nil
	}
	if f := call(); f == nil || f.Class != failure.AuthFailure || f.Delivery != failure.Answered || len(seen) != 3 || seen[2] != "tools/call Bearer olderer" {
		t.Errorf("one that is never accepted: %v, the server saw %q", f, seen)
	}
	next = func(Refusal) (http.Header, error) { return nil, nil }
	if f := call(); f == nil || f.Class != failure.AuthFailure || f.Challenge == "" || len(seen) != 1 {
		t.Errorf("no other one: %v, the server saw %q", f, seen)
	}
	next = func(Refusal) (http.Header, error) {
		return nil, failure.New(failure.AuthFailure, failure.NotSent, "log in")
	}
	if f := call(); f == nil || f.Message != "log in" || len(seen) != 1 {
		t.Errorf("one that cannot be had: %v, the server saw %q", f, seen)
	}
	next = func(Refusal) (http.Header, error) { return nil, errors.New("no") }
	status = http.StatusForbidden // for another reason than its scopes
	if f := call(); f == nil || len(asked) != 0 {
		t.Errorf("forbidden: %v, asked %+v", f, asked)
	}
	challenge = `Bearer scope="a", error=insufficient_scope`
	if f := call(); f == nil || f.Class != failure.AuthFailure || len(asked) != 1 || asked[0].Status != 403 {
		t.Errorf("too few scopes: %v, asked %+v", f, asked)
	}
}
