package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/plugins/context7/internal/cache"
	"github.com/collet-dev/collet/plugins/context7/internal/fakeapi"
	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/sdk/failure"
)

func client(t *testing.T, opt Options) *Client {
	t.Helper()
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSearch(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	c := client(t, Options{URL: fake.URL + "/", Key: "ctx7sk-1", Agent: "a/1"})
	found, err := c.Search(t.Context(), "check a cookie & more", "next.js")
	if err != nil {
		t.Fatal(err)
	}
	want := library.Library{
		ID: "/vercel/next.js", Title: "Next.js", Description: "The React framework", State: "finalized", LastUpdate: "2026-01-15T10:30:00.000Z",
		Snippets: 2500, Stars: 130000, Trust: 10, Benchmark: 95.5, Versions: []string{"v14.3.0-canary.87", "v15.1.8"},
	}
	if len(found.Libraries) != 2 || found.Libraries[1].ID != want.ID || found.Libraries[1].Snippets != want.Snippets ||
		found.Libraries[1].Benchmark != want.Benchmark || !slices.Equal(found.Libraries[1].Versions, want.Versions) || found.Libraries[1].LastUpdate != want.LastUpdate {
		t.Errorf("got %+v", found.Libraries)
	}
	if found.Libraries[0].Stars != 0 {
		t.Error("-1 is a number of stars")
	}
	r := fake.Got()[0]
	if q := r.URL.Query(); q.Get("query") != "check a cookie & more" || q.Get("libraryName") != "next.js" ||
		r.Header.Get("Authorization") != "Bearer ctx7sk-1" || r.UserAgent() != "a/1" {
		t.Errorf("asked %s with %v", r.URL, r.Header)
	}
	if found, err := c.Search(t.Context(), "q", "nonexistent-lib"); err != nil || len(found.Libraries) != 0 {
		t.Errorf("none found: %v, %v", found, err)
	}
}

func TestDocumentation(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	c := client(t, Options{URL: fake.URL})
	docs, err := c.Snippets(t.Context(), "q", "/vercel/next.js")
	if err != nil {
		t.Fatal(err)
	}
	if len(docs.Code) != 1 || docs.Code[0].Code != "export function middleware() {}" || docs.Code[0].Language != "typescript" ||
		!strings.HasSuffix(docs.Code[0].Source, "_snippet_0") || len(docs.Info) != 1 || docs.Info[0].Breadcrumb != "Routing > Middleware" {
		t.Errorf("got %+v", docs)
	}
	if docs, err = c.Text(t.Context(), "q", "/vercel/next.js"); err != nil || docs.Text != fakeapi.Text {
		t.Errorf("got %+v, %v", docs, err)
	}
	if r := fake.Got()[0]; r.Header.Get("Authorization") != "" {
		t.Error("a credential nobody gave")
	}
	for body, class := range map[string]failure.Class{`{"codeSnippets":3}`: failure.InvalidResult, `<html>`: failure.InvalidResult} {
		fake.Next("context", fakeapi.Answer{Status: 200, Body: body})
		if _, err := c.Snippets(t.Context(), "q", "/a/b"); failure.Classify(err).Class != class {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{"", " \n", `{"codeSnippets":[],"infoSnippets":[]}`, `{"codeSnippets":[{"codeTitle":"x","codeList":[]}]}`} {
		fake.Next("context", fakeapi.Answer{Status: 200, Body: body})
		read := c.Text
		if body != "" && body[0] == '{' {
			read = c.Snippets
		}
		if _, err := read(t.Context(), "q", "/a/b"); !isRefusal(err, "no_snippets_found") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func isRefusal(err error, code string) bool {
	r, ok := errors.AsType[*library.Refusal](err)
	return ok && r.Code == code && r.Text != ""
}

// TestErrors goes through every body of the OpenAPI document.
func TestErrors(t *testing.T) {
	t.Parallel()
	classes := map[string]failure.Class{
		"validation": failure.InvalidArguments, "invalid id": failure.InvalidArguments,
		"invalid key": failure.AuthFailure, "access denied": failure.AuthFailure, "plan required": failure.AuthFailure,
		"spending limit": failure.RateLimited, "rate limit": failure.RateLimited, "quota": failure.RateLimited,
		"internal": failure.ServerError, "bad gateway": failure.ServerError, "search failed": failure.ServerError,
		"timed out": failure.Timeout,
	}
	refusals := map[string]string{
		"no library": "library_not_found", "no tag": "tag_not_found", "no snippets": "no_snippets_found",
		"too large": "library_too_large", "no code": "no_code_found", "none found": "no_libraries_found",
	}
	for name, answer := range fakeapi.Errors {
		if name == "not finalized" || name == "redirected" {
			continue // they are waited for and followed
		}
		t.Run(name, func(t *testing.T) {
			fake := fakeapi.Start(t)
			fake.Next("context", answer)
			_, err := client(t, Options{URL: fake.URL}).Snippets(t.Context(), "q", "/owner/repo")
			if code, ok := refusals[name]; ok {
				if !isRefusal(err, code) || !strings.Contains(err.Error(), strings.TrimRight(answer.Message(), ".")) {
					t.Errorf("got %v (%T)", err, err)
				}
				return
			}
			f, ok := errors.AsType[*failure.Failure](err)
			if !ok || f.Class != classes[name] || f.Delivery != failure.Answered || f.UpstreamCode != answer.Status || string(f.UpstreamData) != answer.Body {
				t.Fatalf("got %+v, want %s", err, classes[name])
			}
			if !strings.Contains(f.Message, strings.TrimRight(answer.Message(), ".")) {
				t.Errorf("%q lost what the API said", f.Message)
			}
			if want := map[string]time.Duration{"rate limit": 42 * time.Second}[name]; f.RetryAfter != want {
				t.Errorf("to be tried again after %s, want %s", f.RetryAfter, want)
			}
		})
	}
}

// TestErrorsThatCountAsSuccess: they are no documentation, and nothing of them is kept.
func TestErrorsThatCountAsSuccess(t *testing.T) {
	t.Parallel()
	page := fakeapi.Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}, Body: "<html>Sign in to the network</html>"}
	envelope := fakeapi.Answer{Status: 200, Body: `{"error":"internal_error","message":"An error occurred."}`}
	kept, err := cache.Open(t.TempDir(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		answer fakeapi.Answer
		class  failure.Class
	}{
		{"a page", page, failure.InvalidResult}, {"an error", envelope, failure.ServerError},
		{"no results", fakeapi.Answer{Status: 200, Body: `{"found":[]}`}, failure.InvalidResult},
	} {
		fake := fakeapi.Start(t)
		api := client(t, Options{URL: fake.URL, Cache: kept})
		calls := map[string]func() error{
			"search": func() error { _, err := api.Search(t.Context(), "q", "next.js"); return err },
			"context": func() error {
				_, err := api.Text(t.Context(), "q", "/vercel/next.js")
				return err
			},
		}
		for endpoint, call := range calls {
			if endpoint == "context" && c.name == "no results" {
				continue
			}
			fake.Next(endpoint, c.answer)
			f, ok := errors.AsType[*failure.Failure](call())
			if !ok || f.Class != c.class || f.Delivery != failure.Answered {
				t.Errorf("%s from %s: %v, want %s", c.name, endpoint, f, c.class)
			}
			if err := call(); err != nil {
				t.Errorf("%s from %s, then an answer: %v", c.name, endpoint, err)
			}
		}
	}
}

func TestWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, with, want string }{
		{"", "invalid key", "CONTEXT7_API_KEY; a key is free"},
		{"ctx7sk-secret", "invalid key", "begin with ctx7sk"},
		{"", "rate limit", "a key is free"},
		{"ctx7sk-secret", "rate limit", "context7.com/plans"},
		{"ctx7sk-secret", "access denied", "teamspace"},
		{"", "bad gateway", "api_url"},
	} {
		fake := fakeapi.Start(t)
		fake.Next("search", fakeapi.Errors[c.with])
		_, err := client(t, Options{URL: fake.URL, Key: c.key}).Search(t.Context(), "q", "x")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s with key %q: %v, want %q", c.with, c.key, err, c.want)
		}
	}
}

// TestPause: who asks again before the time is answered here, until it has come.
func TestPause(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	c := client(t, Options{URL: fake.URL})
	fake.Next("search", fakeapi.Errors["rate limit"])
	if _, err := c.Search(t.Context(), "q", "x"); failure.Classify(err).Class != failure.RateLimited {
		t.Fatal(err)
	}
	fake.Got()
	_, err := c.Text(t.Context(), "q", "/a/b")
	f := failure.Classify(err)
	if f.Class != failure.RateLimited || f.Delivery != failure.NotSent || f.RetryAfter < 30*time.Second || f.RetryAfter > 42*time.Second || len(fake.Got()) != 0 {
		t.Errorf("during a pause: %+v", f)
	}
	c.resume = time.Now().Add(-time.Second)
	if _, err := c.Text(t.Context(), "q", "/a/b"); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		after, reset string
		want         time.Duration
	}{
		{"42", "", 42 * time.Second},
		{now.Add(time.Minute).Format(http.TimeFormat), "", time.Minute},
		{now.Add(-time.Minute).Format(http.TimeFormat), "", 0},
		{"soon", "", 0},
		{"-1", "", 0},
		{"99999999999999", "", 0},
		{"", strconv.FormatInt(now.Unix()+90, 10), 90 * time.Second},
		{"", "1", 0},
		{"", "9999999999999", maxPause},
		{"7", strconv.FormatInt(now.Unix()+90, 10), 7 * time.Second},
	} {
		h := http.Header{"Retry-After": {c.after}, "Ratelimit-Reset": {c.reset}}
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("Retry-After %q, RateLimit-Reset %q: %s, want %s", c.after, c.reset, got, c.want)
		}
	}
}

func TestMovedLibraries(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	c := client(t, Options{URL: fake.URL})
	to := func(where string) fakeapi.Answer {
		return fakeapi.Answer{Status: 301, Body: `{"error":"library_redirected","message":"moved","redirectUrl":"` + where + `"}`}
	}
	fake.Next("context", fakeapi.Errors["redirected"], to("https://context7.com/third/place"))
	docs, err := c.Snippets(t.Context(), "q", "/owner/repo")
	if err != nil || docs.ID != "/third/place" {
		t.Errorf("got %+v, %v", docs, err)
	}
	fake.Next("context", to("/b/b"), to("/c/c"), to("/d/d"), to("/e/e"))
	if _, err := c.Snippets(t.Context(), "other", "/a/a"); !isRefusal(err, "library_redirected") || !strings.Contains(err.Error(), "circles") {
		t.Errorf("for ever: %v", err)
	}
	fake.Next("context", to("nowhere"))
	if _, err := c.Snippets(t.Context(), "third", "/a/a"); failure.Classify(err).Class != failure.ServerError {
		t.Errorf("without a new id: %v", err)
	}
}

func TestIndexing(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	c := client(t, Options{URL: fake.URL})
	var waits []time.Duration
	c.after = func(_ context.Context, wait time.Duration) error { waits = append(waits, wait); return nil }
	slow := fakeapi.Errors["not finalized"]
	slow.Header = map[string]string{"Retry-After": "3600"}
	fake.Next("context", fakeapi.Errors["not finalized"])
	if docs, err := c.Snippets(t.Context(), "q", "/a/b"); err != nil || len(docs.Code) != 1 {
		t.Errorf("ready the second time: %+v, %v", docs, err)
	}
	fake.Next("context", slow, slow)
	if _, err := c.Snippets(t.Context(), "other", "/a/b"); !isRefusal(err, "library_not_finalized") || !strings.Contains(err.Error(), "ask again") {
		t.Errorf("never ready: %v", err)
	}
	if !slices.Equal(waits, []time.Duration{indexingWait, maxIndexingWait}) {
		t.Errorf("waited %v", waits)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := sleep(ctx, time.Hour); err == nil || ctx.Err() != nil {
		t.Errorf("a wait beyond the call's time: %v", err)
	}
	if err := sleep(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
}

func TestAddressesThatRedirect(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked somebody else") }))
	defer stranger.Close()
	c := client(t, Options{URL: fake.URL, Key: "ctx7sk-secret"})
	to := func(status int, where string) fakeapi.Answer {
		return fakeapi.Answer{Status: status, Header: map[string]string{"Location": where}}
	}
	fake.Next("search", to(308, "/api/v2/libs/search?query=q&libraryName=y"))
	if found, err := c.Search(t.Context(), "q", "x"); err != nil || len(found.Libraries) != 2 {
		t.Errorf("on the same origin: %v", err)
	}
	fake.Next("search", to(302, stranger.URL+"/x?token=1"))
	if _, err := c.Search(t.Context(), "q", "z"); err == nil || !strings.Contains(err.Error(), stranger.URL) || strings.Contains(err.Error(), "token") {
		t.Errorf("elsewhere: %v", err)
	}
	self := to(302, "/api/v2/libs/search?query=q&libraryName=y")
	fake.Next("search", self, self, self, self)
	if _, err := c.Search(t.Context(), "q", "loop"); err == nil {
		t.Error("for ever")
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	fake := fakeapi.Start(t)
	dir, err := cache.Open(t.TempDir(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, Options{URL: fake.URL, Key: "one", Cache: dir})
	fake.Next("context", fakeapi.Errors["internal"])
	if _, err := c.Snippets(t.Context(), "q", "/a/b"); err == nil {
		t.Fatal("no error")
	}
	for range 3 {
		if _, err := c.Snippets(t.Context(), "q", "/a/b"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(fake.Got()); n != 2 {
		t.Errorf("%d requests, want the failed one and one more", n)
	}
	fake.Next("context", fakeapi.Answer{Status: 200, Body: "<html>"})
	if _, err := c.Snippets(t.Context(), "s", "/a/b"); err == nil {
		t.Fatal("no error")
	}
	if _, err := c.Snippets(t.Context(), "s", "/a/b"); err != nil {
		t.Errorf("what could not be read was kept: %v", err)
	}
	fake.Got()
	// Text and snippets, other queries and other keys have answers of their own.
	_, _ = c.Text(t.Context(), "q", "/a/b")
	_, _ = c.Snippets(t.Context(), "r", "/a/b")
	_, _ = client(t, Options{URL: fake.URL, Key: "two", Cache: dir}).Snippets(t.Context(), "q", "/a/b")
	if n := len(fake.Got()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	fake.Stop()
	if _, err := c.Snippets(t.Context(), "q", "/a/b"); err != nil {
		t.Errorf("kept, and yet: %v", err)
	}
	if _, err := c.Snippets(t.Context(), "new", "/a/b"); failure.Classify(err).Class != failure.ConnectionRefused || failure.Classify(err).Delivery != failure.NotSent {
		t.Errorf("nobody there: %+v", failure.Classify(err))
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		url, key string
		ok       bool
	}{
		{"", "", true}, {"https://ctx.corp.example/api", "k", true}, {"http://127.0.0.1:1/api", "k", true}, {"http://localhost/api", "k", true},
		{"http://ctx.corp.example/api", "", true}, {"http://ctx.corp.example/api", "k", false},
		{"ftp://x/api", "", false}, {"context7.com/api", "", false}, {"https://u:p@x/api", "", false}, {"https://x/api?key=1", "", false}, {"://", "", false},
	} {
		_, err := New(Options{URL: c.url, Key: c.key})
		if (err == nil) != c.ok {
			t.Errorf("%q with key %q: %v", c.url, c.key, err)
		}
	}
}

func TestCallersTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hang.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client(t, Options{URL: hang.URL}).Search(ctx, "q", "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
