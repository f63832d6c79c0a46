package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/redact"
)

func TestText(t *testing.T) {
	var s redact.Set
	s.Add("env.KEY", `a "quoted" secret&<`)
	s.Add("$HEADER", "Bearer long-bearer-word")
	s.Add("short", "12345")
	s.Add("a", "same-secret")
	s.Add("b", "same-secret")
	s.Add("c", "same-secret-and-more")
	s.Add("pem", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n")
	s.Add("url", "user:password")
	s.Add(`n"a\me`, "odd-name")
	for text, want := range map[string]string{
		`it is a "quoted" secret&<!`:                `it is [env.KEY]!`,
		`{"v":"a \"quoted\" secret&<"}`:             `{"v":"[env.KEY]"}`,
		`{"v":"a \"quoted\" secret\u0026\u003c"}`:   `{"v":"[env.KEY]"}`,
		`?t=a+%22quoted%22+secret%26%3C&x`:          `?t=[env.KEY]&x`,
		`Bearer long-bearer-word`:                   `[$HEADER]`,
		`bearer long-bearer-word`:                   `bearer [$HEADER]`,
		`12345`:                                     `12345`,
		`same-secret same-secret-and-more`:          `[a] [c]`,
		`line MIIEvQIBADANBg of -----BEGIN CERT`:    `line [pem] of -----BEGIN CERT`,
		`Authorization: Basic dXNlcjpwYXNzd29yZA==`: `Authorization: Basic [url]`,
		`odd-name`: `[n_a_me]`,
		``:         ``,
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if s.Holds(text) != (text != want) {
			t.Errorf("Holds(%q) is %t", text, text == want)
		}
	}
	var none *redact.Set
	none.Add("x", "anything")
	none.AddToken("x", "anything")
	if got := none.Text("anything"); got != "anything" {
		t.Errorf("no set: %q", got)
	}
}

// What was JSON stays JSON, whatever in it was secret.
func TestJSON(t *testing.T) {
	var s redact.Set
	s.Add("pin", "12345678")
	s.Add("key", `q"uote\d`)
	for _, v := range []any{map[string]any{"a": "pin 12345678"}, map[string]any{"12345678": 12345678}, []any{`q"uote\d`, "<&>"}, "x"} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got := s.JSON(raw)
		if !json.Valid(got) || strings.Contains(string(got), "12345678") || strings.Contains(string(got), "uote") {
			t.Errorf("%s became %s", raw, got)
		}
	}
	if raw := []byte(`{"n": 1}`); &s.JSON(raw)[0] != &raw[0] {
		t.Error("what holds no secret was copied")
	}
}

// Tokens come and go; the set does not grow with them.
func TestTokens(t *testing.T) {
	var s redact.Set
	for i := range 100 {
		s.AddToken("token", fmt.Sprintf("token-number-%d.", i))
	}
	s.AddToken("token", "token-number-99.")
	if got := s.Text("token-number-99. token-number-36. token-number-35."); got != "[token] [token] token-number-35." {
		t.Errorf("got %q", got)
	}
}

func TestHandler(t *testing.T) {
	var s redact.Set
	s.Add("key", "the-secret")
	var out bytes.Buffer
	log := slog.New(s.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	log.Debug("not this")
	log.With("with", "the-secret").WithGroup("g").Error("m the-secret", "s", "the-secret", "e", errors.New("no the-secret"),
		"b", []string{"the-secret"}, slog.Group("in", "x", "the-secret"), "n", 7)
	if got := out.String(); strings.Contains(got, "the-secret") || strings.Count(got, "[key]") != 6 || !strings.Contains(got, "g.n=7") || strings.Contains(got, "not this") {
		t.Errorf("got %s", got)
	}
}
