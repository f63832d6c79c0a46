package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/redact"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
)

// In whatever form a value comes back, its name stands in its place; what is too
// short, or is no secret, stays.
func TestRedact(t *testing.T) {
	set := &config.Server{
		Name: "s", Command: "x", URL: "http://x",
		Args: []string{"--file", "${FILE_VALUE}", "--path=${HOME}"},
		Env:  map[string]string{"A": "${TOKEN}"},
	}
	vars := map[string]string{"TOKEN": `a "quoted" secret&`, "FILE_VALUE": "from-a-variable", "HOME": "/home/somebody"}
	s := New(set, Surroundings{
		Resolver: config.Resolver{Lookup: func(n string) (string, bool) { v, ok := vars[n]; return v, ok }},
		Environ:  []string{"SOME_API_KEY=inherited-key", "PLAIN=plain-value", "PATH=/usr/bin:/bin"},
	})
	if got := s.Redact("from-a-variable after-an-option"); got != "[$FILE_VALUE] after-an-option" {
		t.Errorf("before the values are resolved: %q", got)
	}
	s.keepSecrets(set, &config.Resolved{
		Args:    []string{"--api-key", "after-an-option", "--auth-token=within-an-option", "--name", "not-one"},
		Env:     map[string]string{"A": vars["TOKEN"], "PATH": "/opt/secret/bin", "SHORT": "12345"},
		Headers: map[string]string{"Authorization": "Bearer long-bearer-word"},
		URL:     "https://user:url-password@x/mcp?key=in-a-query",
		Config:  []byte(`{"list":[{"token":"deep-in-config"}],"n":123456789,"prefix":"deep-in-config-and-longer"}`),
	}, nil)
	for text, want := range map[string]string{
		`it is a "quoted" secret&!`:           `it is [$TOKEN]!`,
		`{"v":"a \"quoted\" secret&"}`:        `{"v":"[$TOKEN]"}`,
		`?t=a+%22quoted%22+secret%26&x`:       `?t=[$TOKEN]&x`,
		"from-a-variable at /home/somebody":   "[$FILE_VALUE] at /home/somebody",
		"after-an-option within-an-option":    "[args] [--auth-token]",
		"--name not-one 12345 123456789":      "--name not-one 12345 123456789",
		"Bearer long-bearer-word":             "[headers.Authorization]",
		"bearer long-bearer-word":             "bearer [headers.Authorization]",
		"url-password in-a-query":             "[url] [url]",
		"deep-in-config-and-longer":           "[config.prefix]",
		"deep-in-config-and-longe":            "[config.list.0.token]-and-longe",
		"inherited-key plain-value":           "[$SOME_API_KEY] plain-value",
		"not on /opt/secret/bin:/usr/bin":     "not on /opt/secret/bin:/usr/bin",
		strings.Repeat("deep-in-config, ", 2): "[config.list.0.token], [config.list.0.token], ",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What a plugin says is no secret stays in what is told to models, whatever it is called.
func TestPublicByThePluginsWord(t *testing.T) {
	set := &config.Server{Name: "s", Plugin: "x"}
	s := New(set, Surroundings{Resolver: config.Resolver{Lookup: func(string) (string, bool) { return "", false }}, Secrets: &redact.Set{}})
	s.keepSecrets(set, &config.Resolved{Config: []byte(`{"credential":"AzureCliCredential","credentials":"GoogleCliCredential"}`)},
		&describe.Description{ConfigSchema: json.RawMessage(`{"properties":{"credential":{"type":"string","x-collet-secret":false}}}`)})
	f := &Failure{Failure: *failure.New(failure.AuthFailure, failure.Answered, "AzureCliCredential and GoogleCliCredential")}
	if got := s.conceal(f).Message; got != "AzureCliCredential and [config.credentials]" {
		t.Errorf("%q", got)
	}
}
