package hook

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/sdk/failure"
)

func TestAbout(t *testing.T) {
	for _, test := range []struct {
		tools []string
		tool  string
		asked bool
	}{
		{nil, "a/b", true}, {[]string{"a/*"}, "a/b", true}, {[]string{"a/*"}, "ab/c", false},
		{[]string{"x/y", "a/?"}, "a/b", true}, {[]string{"a/b"}, "a/bc", false},
	} {
		m := member{set: &config.Hook{Tools: test.tools}}
		if got := m.about(test.tool); got != test.asked {
			t.Errorf("%q about %s: %v", test.tools, test.tool, got)
		}
	}
}

func TestRefusal(t *testing.T) {
	m := member{set: &config.Hook{Name: "h"}, env: &Surroundings{Conceal: func(s string) string { return strings.ReplaceAll(s, "s3cret", "[token]") }}}
	// What a hook says of delivery does not count: the host knows.
	f := m.refusal(&failure.Failure{Class: failure.RateLimited, Delivery: failure.Answered, Message: "later, s3cret"}, failure.NotSent)
	if Blamed(f) != "h" || f.Class != failure.RateLimited || f.Delivery != failure.NotSent || f.Message != "the hook h refuses: later, [token]" {
		t.Errorf("%+v", f)
	}
	if f := m.refusal(&failure.Failure{}, failure.Answered); f.Message != "the hook h refuses: it gave no reason" || f.Delivery != failure.Answered {
		t.Errorf("%+v", f)
	}
}

func TestBroken(t *testing.T) {
	for word, fails := range map[string]bool{config.OnErrorClosed: true, config.OnErrorOpen: false} {
		m := member{set: &config.Hook{Name: "h", File: "m.toml", Line: 3, OnError: word}, env: &Surroundings{Log: slog.New(slog.DiscardHandler)}}
		var out Outcome
		f := m.broken(t.Context(), &out, errors.New("no idea"), failure.Answered)
		switch {
		case fails && (f == nil || Blamed(f) != "h" || f.Class != failure.ServerError || f.Delivery != failure.Answered || !strings.Contains(f.Message, "the hook h (m.toml:3) does not work: no idea; the tool has run")):
			t.Errorf("%s: %v", word, f)
		case !fails && (f != nil || len(out.Notices) != 1 || !strings.Contains(out.Notices[0].Text, "no idea")):
			t.Errorf("%s: %v, notices %q", word, f, out.Notices)
		}
	}
}

func TestObjects(t *testing.T) {
	var m member
	if err := m.objects(nil, []byte(` {"a":1.0} `)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`[]`, `7`, `{"a":`, `{} {}`, ` `} {
		if m.objects([]byte(bad)) == nil {
			t.Errorf("%q is taken for an object", bad)
		}
	}
}
