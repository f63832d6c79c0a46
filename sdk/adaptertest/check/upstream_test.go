package check

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// While the upstream is silent, a stream of news is no call that waits for it.
func TestSilentUpstreamHoldsCalls(t *testing.T) {
	u := &upstream{changed: make(chan struct{}), released: make(chan struct{})}
	u.inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	u.play(faultSilent)
	listen := `{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen"}`
	w := httptest.NewRecorder()
	u.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(listen)))
	if got := w.Body.String(); got != listen {
		t.Errorf("the stream got %q", got)
	}
	gone := make(chan any, 1)
	go func() {
		defer func() { gone <- recover() }()
		u.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"method":"tools/call"}`)))
	}()
	if !u.held(t.Context(), func(n int) bool { return n == 1 }) {
		t.Error("a call is not held")
	}
	u.play("")
	if got := <-gone; got != http.ErrAbortHandler {
		t.Errorf("the call ended with %v", got)
	}
}
