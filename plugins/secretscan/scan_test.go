package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/collet-dev/collet/sdk/hook"
)

// Credentials are put together here so that no scanner takes this file for a leak.
var (
	ghp  = "ghp" + "_" + strings.Repeat("aB3", 12)
	akia = "AK" + "IA" + "ABCDEFGHIJKLMNOP"
	pem  = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB\n-----END RSA " + "PRIVATE KEY-----"
)

func TestScan(t *testing.T) {
	s, err := open(t.Context(), nil, config{Patterns: []string{`acme-[0-9]+`}})
	if err != nil {
		t.Fatal(err)
	}
	pemJSON, _ := json.Marshal(pem)
	for _, test := range []struct{ in, out, found string }{
		{`{"a" : 1.0, "b":"none <b>\u003c"}`, `{"a" : 1.0, "b":"none <b>\u003c"}`, ""},
		{`{"a":"x ` + ghp + ` y","n":12345678901234567890}`, `{"a":"x [redacted] y","n":12345678901234567890}`, "a GitHub token"},
		{`{"` + akia + `":["` + ghp + `"]}`, `{"[redacted]":["[redacted]"]}`, "an AWS access key,a GitHub token"},
		{`{"a":"\u0041` + akia[1:] + `\n<"}`, `{"a":"[redacted]\n<"}`, "an AWS access key"}, // escaped
		{`{"k":` + string(pemJSON) + `}`, `{"k":"[redacted]"}`, "a private key"},
		{`{"a":"acme-1","b":"\"acme-2\\"}`, `{"a":"[redacted]","b":"\"[redacted]\\"}`, "a pattern of the configuration"},
		{`{"a":"X` + akia + `"}`, `{"a":"X` + akia + `"}`, ""}, // part of something longer
	} {
		out, found := s.scan(json.RawMessage(test.in))
		if string(out) != test.out || strings.Join(found, ",") != test.found {
			t.Errorf("%s\n got %s %v\nwant %s %s", test.in, out, found, test.out, test.found)
		}
	}
}

func TestActions(t *testing.T) {
	call := &hook.Call{Arguments: json.RawMessage(`{"a":"` + ghp + `"}`)}
	for _, test := range []struct {
		cfg           config
		before, after bool
	}{
		{config{}, true, true}, {config{Arguments: off}, false, true}, {config{Results: off}, true, false}, {config{Arguments: redact, Results: refuse}, true, true},
	} {
		s, err := open(t.Context(), nil, test.cfg)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := s.Before(t.Context(), call)
		after, _ := s.After(t.Context(), call, call.Arguments)
		if (before != nil) != test.before || (after != nil) != test.after {
			t.Errorf("%+v: %v %v", test.cfg, before, after)
		}
	}
	for _, bad := range []config{{Arguments: "no"}, {Results: "no"}, {Patterns: []string{"("}}} {
		if _, err := open(t.Context(), nil, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func FuzzScan(f *testing.F) {
	s, err := open(f.Context(), nil, config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"a":"` + ghp + `\\"}`))
	f.Add([]byte(`{"a":"\ud800 ` + akia + `"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			t.Skip()
		}
		out, found := s.scan(raw)
		if !json.Valid(out) || len(found) == 0 && string(out) != string(raw) {
			t.Fatalf("%s becomes %s", raw, out)
		}
		if _, again := s.scan(out); len(again) > 0 {
			t.Fatalf("%s still holds %v", out, again)
		}
	})
}
