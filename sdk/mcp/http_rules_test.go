package mcp

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"1": time.Second, " 120 ": 2 * time.Minute, "0": time.Millisecond, "": 0, "soon": 0, "-1": 0, "1.5": 0, "99999999999": 24 * time.Hour, "999999": 24 * time.Hour,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       time.Millisecond,
		now.AddDate(1, 0, 0).Format(http.TimeFormat):      24 * time.Hour,
	} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestChallengeParameter(t *testing.T) {
	for _, test := range []struct{ challenge, name, want string }{
		{`Bearer error="invalid_token", error_description="The token, expired"`, "error_description", "The token, expired"},
		{`Bearer error="invalid_token", error_description="x"`, "error", "invalid_token"},
		{`Bearer error_description="x", error=plain`, "error", "plain"},
		{`Bearer Scope = "a b"`, "scope", "a b"},
		{`Bearer realm="error=fake", error="real"`, "error", "real"},
		{`Basic realm="x", Bearer scope=a`, "scope", "a"},
		{`Bearer`, "error", ""},
		{`Bearer error`, "error", ""},
		{`Bearer error="`, "error", ""},
		{"Bearer error=\"a\x1b[31m\"", "error", `a\x1b[31m`},
		{``, "error", ""},
	} {
		if got := parameter(test.challenge, test.name); got != test.want {
			t.Errorf("%s of %s: %q, want %q", test.name, test.challenge, got, test.want)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		from, to string
		want     bool
	}{
		{"http://a/x", "http://a/y?z", true},
		{"http://a", "http://A:80", true},
		{"https://a:443", "https://a", true},
		{"http://a", "https://a", true},
		{"http://a:80", "https://a:443", true},
		{"https://a", "http://a", false},
		{"http://a:8080", "https://a", false},
		{"http://a", "https://a:8443", false},
		{"http://a", "http://a:8080", false},
		{"http://a", "http://b", false},
		{"http://a", "http://a.b", false},
		{"http://a", "file:///a", false},
		{"http://a", "ftp://a", false},
		{"http://[::1]", "http://[::1]:80", true},
		{"http://127.0.0.1", "http://localhost", false},
	} {
		from, err := url.Parse(test.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(test.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := sameOrigin(from, to); got != test.want {
			t.Errorf("%s to %s: %v", test.from, test.to, got)
		}
	}
}

func TestIsModernError(t *testing.T) {
	for code, want := range map[int]bool{-32601: true, -32602: true, -32020: true, -32022: true, -32099: true,
		-32000: false, -32001: false, -32019: false, -32600: false, 404: false, 0: false, -1: false} {
		if isModernError(code) != want {
			t.Errorf("%d: %v", code, !want)
		}
	}
}
