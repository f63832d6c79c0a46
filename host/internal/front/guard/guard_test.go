package guard_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

func TestPrincipalOfARequest(t *testing.T) {
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{canary: owner("token:ci")}}}, echo)
	if _, body := p.do(t, "POST", "/mcp", "Authorization: Bearer "+canary); body != secret+" for token:ci" {
		t.Errorf("with a token: %s", body)
	}
	p = serve(t, guard.Options{}, echo)
	if _, body := p.do(t, "POST", "/mcp"); body != secret+" for local" {
		t.Errorf("without authentication: %s", body)
	}
}

func TestTooLarge(t *testing.T) {
	var got error
	p := serve(t, guard.Options{Limits: guard.Limits{Body: 10}}, func(w http.ResponseWriter, r *http.Request) {
		_, got = io.ReadAll(r.Body)
		if got != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	post := func(body io.Reader) int {
		req, err := http.NewRequest("POST", p.URL+"/mcp", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, _ := p.send(t, req)
		return resp.StatusCode
	}
	if status := post(strings.NewReader("0123456789")); status != 200 || got != nil {
		t.Errorf("a body at the limit: %d, %v", status, got)
	}
	got = nil
	if status := post(strings.NewReader("0123456789a")); status != 413 || got != nil || p.denials.take() != "POST body_size" {
		t.Errorf("a body whose length says that it is too large: %d, the handler got %v", status, got)
	}
	status := post(io.MultiReader(strings.NewReader("0123456789a"), strings.NewReader("b"))) // chunked
	if _, over := errors.AsType[*http.MaxBytesError](got); status != 413 || !over || p.denials.take() != "POST body_size" {
		t.Errorf("a body that turns out to be too large: %d, the handler got %v", status, got)
	}
}

func TestFailuresOfAnAddress(t *testing.T) {
	p := serve(t, guard.Options{
		Auth:   []guard.Authenticator{tokens{canary: owner("a"), "short": owner("b")}},
		Limits: guard.Limits{FailuresBurst: 3, FailuresPerSecond: 1e-6},
	}, echo)
	if resp, _ := p.do(t, "POST", "/mcp", "Authorization: Bearer short"); resp.StatusCode != 200 {
		t.Errorf("a short token: %d", resp.StatusCode)
	}
	for i := range 5 {
		resp, body := p.do(t, "POST", "/mcp", "Authorization: Bearer guess")
		want := map[bool]int{true: 401, false: 429}[i < 3]
		if resp.StatusCode != want || (want == 429) != (resp.Header.Get("Retry-After") != "") {
			t.Errorf("guess %d: %d, Retry-After %q; want %d", i, resp.StatusCode, resp.Header.Get("Retry-After"), want)
		}
		message(t, body)
	}
	if resp, _ := p.do(t, "POST", "/mcp"); resp.StatusCode != 429 {
		t.Errorf("no token after too many failures: %d", resp.StatusCode)
	}
	if resp, _ := p.do(t, "POST", "/mcp", "Authorization: Bearer short"); resp.StatusCode != 429 {
		t.Errorf("a token that could be guessed: %d; want 429 for it too", resp.StatusCode)
	}
	if resp, _ := p.do(t, "POST", "/mcp", "Authorization: Bearer "+canary); resp.StatusCode != 200 {
		t.Errorf("somebody with a token that cannot be guessed is locked out by the others: %d", resp.StatusCode)
	}
	if resp, _ := p.do(t, "POST", "/mcp", "Host: evil.example"); resp.StatusCode != 403 {
		t.Errorf("a foreign host: %d", resp.StatusCode)
	}
}

func TestLimitsOfAPrincipal(t *testing.T) {
	started, end := make(chan bool), make(chan bool)
	p := serve(t, guard.Options{
		Auth:   []guard.Authenticator{tokens{canary: owner("a"), canary + "2": owner("a"), canary + "3": owner("b")}},
		Limits: guard.Limits{InFlight: 1},
	}, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			started <- true
			<-end
		}
	})
	var first sync.WaitGroup
	first.Go(func() { p.do(t, "POST", "/wait", "Authorization: Bearer "+canary) })
	<-started
	for token, want := range map[string]int{canary: 429, canary + "2": 429, canary + "3": 200} {
		if resp, _ := p.do(t, "POST", "/mcp", "Authorization: Bearer "+token); resp.StatusCode != want {
			t.Errorf("while one runs: %d; want %d", resp.StatusCode, want)
		}
	}
	if got := p.denials.take(); got != "POST in_flight, POST in_flight" {
		t.Errorf("counted %s", got)
	}
	close(end)
	first.Wait()
	if resp, _ := p.do(t, "POST", "/mcp", "Authorization: Bearer "+canary); resp.StatusCode != 200 {
		t.Errorf("after it has ended: %d", resp.StatusCode)
	}
	if !strings.Contains(p.log.String(), "principal=a") {
		t.Errorf("the log does not say whose limit it was: %s", p.log)
	}
}

// Of each reason the log has a line at once, and then one in a while that says how
// many there were, however many come.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g, err := guard.New(guard.Options{
			Auth: []guard.Authenticator{tokens{}}, Hosts: []string{"example.com"}, Limits: guard.Limits{FailuresBurst: 10_000},
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		handler := g.Wrap(http.HandlerFunc(echo))
		flood := func(n int) {
			for range n {
				handler.ServeHTTP(writer{}, request(t, "Bearer "+canary))
				r := request(t, "")
				r.Host, r.URL.Path = strings.Repeat("h", 5000), "/"+strings.Repeat("x", 5000)
				handler.ServeHTTP(writer{}, r)
			}
		}
		for _, step := range []struct {
			n    int
			want []string
		}{
			{300, []string{"level=INFO", "reason=unknown_token", "reason=host"}},
			{1000, nil},
			{1, []string{"reason=unknown_token", "reason=host", "refusedBefore=1299"}},
		} {
			log.Reset()
			flood(step.n)
			if len(step.want) > 0 && strings.Count(log.String(), "\n") != 2 || len(step.want) == 0 && log.Len() > 0 {
				t.Errorf("%d refusals for each of two reasons: %s", step.n, log.String())
			}
			for _, want := range step.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s: %s", want, log.String())
				}
			}
			if log.Len() > 1000 || strings.Contains(log.String(), canary) {
				t.Errorf("what strangers wrote: %s", log.String())
			}
			if step.want == nil {
				time.Sleep(10 * time.Second)
			}
		}
	})
}

// That nobody can say whether a token counts is the server's own fault, and what its
// log has without being asked for more.
func TestUndecidedIsAnError(t *testing.T) {
	var log bytes.Buffer
	g, err := guard.New(guard.Options{
		Auth: []guard.Authenticator{&withdrawn{err: errors.New("tokens.toml: line 3 is broken")}}, Hosts: []string{"example.com"},
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := g.Wrap(http.HandlerFunc(echo))
	handler.ServeHTTP(writer{}, request(t, ""))
	handler.ServeHTTP(writer{}, request(t, "Bearer "+canary))
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "line 3 is broken") || strings.Contains(got, canary) {
		t.Errorf("the log has %q", got)
	}
}

// withdrawn is an authenticator of one token that stops counting.
type withdrawn struct {
	mu    sync.Mutex
	err   error
	other *guard.Principal // whose it is by then
}

func (w *withdrawn) Authenticate(context.Context, string) (*guard.Principal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.other != nil {
		return w.other, nil
	}
	return owner("a").p, w.err
}

// A stream ends when its credential stops counting, and not because nobody can say
// whether it does.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	same, less := *owner("a").p, *owner("a").p
	same.Grants = slices.Clone(same.Grants) // as a file that is read again has them
	less.Grants = []guard.Grant{{Servers: []string{"docs"}}}
	for _, test := range []struct {
		err   error
		other *guard.Principal
		ends  bool
	}{
		{nil, nil, false},
		{nil, &same, false},
		{nil, &less, true},
		{nil, owner("b").p, true},
		{errors.New("the issuer cannot be reached"), nil, false},
		{guard.ErrUnknown, nil, true},
		{fmt.Errorf("wrapped: %w", &guard.Refusal{Reason: guard.Expired}), nil, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			auth := &withdrawn{}
			g, err := guard.New(guard.Options{Auth: []guard.Authenticator{auth}, Hosts: []string{"example.com"}})
			if err != nil {
				t.Fatal(err)
			}
			var cause error
			handler := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				time.Sleep(90 * time.Second) // of the bubble: three times asked, the credential counts
				if r.Context().Err() != nil {
					t.Error("the stream ended before its credential")
				}
				auth.mu.Lock()
				auth.err, auth.other = test.err, test.other
				auth.mu.Unlock()
				select {
				case <-r.Context().Done():
					cause = context.Cause(r.Context())
				case <-time.After(time.Hour):
				}
			}))
			handler.ServeHTTP(writer{}, request(t, "Bearer "+canary))
			if got := errors.Is(cause, guard.ErrCredential); got != test.ends {
				t.Errorf("%v: the stream ended %v (%v); want %v", test.err, got, cause, test.ends)
			}
			synctest.Wait() // nothing goes on after the request
		})
	}
}

type writer struct{}

func (writer) Header() http.Header         { return http.Header{} }
func (writer) Write(p []byte) (int, error) { return len(p), nil }
func (writer) WriteHeader(int)             {}

func request(t *testing.T, authorization string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	return r
}

// A refused client that goes on sending is not listened to for long, and nothing of
// what it sends is kept.
func TestRefusedBodyIsNotRead(t *testing.T) {
	t.Parallel()
	p := serve(t, guard.Options{Auth: []guard.Authenticator{tokens{}}}, echo)
	c, err := net.Dial("tcp", p.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost%s\r\nContent-Length: 1000000000\r\n\r\n", p.port())
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("before the body: %d", resp.StatusCode)
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second)) // the guard gives 2
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("the connection stays open: %v", err)
	}
}

// Streams may be silent for longer than any deadline of the guard; what has been
// read of a request must not end them.
func TestStreamsFlush(t *testing.T) {
	p := serve(t, guard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", p.URL+"/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Errorf("the event does not come: %q, %v", line, err)
	}
	cancel() // and the handler notices
}

// Over HTTP/2 a deadline that has passed resets the stream, written to or not.
func TestSilentStreams(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		p := &peer{}
		g, err := guard.New(guard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g.Hurry(200 * time.Millisecond)
		p.Server = httptest.NewUnstartedServer(g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for range 2 {
				_, _ = io.WriteString(w, "data: 1\n\n")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					t.Errorf("HTTP/2 %v: the stream ended by itself", http2)
				case <-time.After(300 * time.Millisecond): // longer than any deadline
				}
			}
		})))
		p.EnableHTTP2 = http2
		if http2 {
			p.StartTLS()
		} else {
			p.Start()
		}
		resp, err := p.Client().Post(p.URL+"/mcp", "text/plain", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "data: 1\n\ndata: 1\n\n" || (resp.ProtoMajor == 2) != http2 {
			t.Errorf("HTTP/2 %v, %s: %q, %v", http2, resp.Proto, body, err)
		}
		p.Client().CloseIdleConnections()
		p.Close()
	}
}
