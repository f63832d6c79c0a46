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
