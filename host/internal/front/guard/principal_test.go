package guard

import (
	"context"
	"testing"

	"github.com/collet-dev/collet/host/internal/exposure"
)

func TestAllows(t *testing.T) {
	p := &Principal{Grants: []Grant{
		{Servers: []string{"git*"}, Tools: []string{"get_*", "github/delete_me", "*/list/*"}},
		{Servers: []string{"docs"}},
	}}
	for _, test := range []struct {
		server, tool string
		want         bool
	}{
		{"github", "get_issue", true},
		{"gitlab", "get_issue", true},
		{"github", "delete_me", true},
		{"gitlab", "delete_me", false},
		{"github", "list/all", true},
		{"github", "create", false},
		{"github", "forget_me", false},
		{"docs", "anything/at/all", true},
		{"Docs", "x", false},
		{"other", "get_x", false},
		{"", "", false},
	} {
		if got := p.Allows(test.server, test.tool); got != test.want {
			t.Errorf("Allows(%q, %q) = %v", test.server, test.tool, got)
		}
	}
	// "*" matches a slash, but a pattern of tools must not reach into servers' names.
	p = &Principal{Grants: []Grant{{Tools: []string{"git*"}}}}
	if p.Allows("github", "delete_everything") || !p.Allows("files", "git_status") {
		t.Error("a pattern of tools was taken for one of servers")
	}
	if p := (&Principal{}); p.Allows("a", "b") || p.AllowsServer("a") || p.Exposure("a", "b", exposure.Direct) != exposure.Hidden {
		t.Error("a principal without grants may use something")
	}
	p = &Principal{Grants: []Grant{All}}
	if !p.Allows("a", "b/c") || !p.AllowsServer("a") {
		t.Error("All does not cover everything")
	}
}

func TestAllowsServer(t *testing.T) {
	p := &Principal{Grants: []Grant{{Servers: []string{"git*"}, Tools: []string{"x"}}}}
	if !p.AllowsServer("github") || p.AllowsServer("docs") {
		t.Error("AllowsServer does not go by the servers of the grants")
	}
}

func TestCeiling(t *testing.T) {
	p := &Principal{Grants: []Grant{
		{Servers: []string{"a"}, Ceiling: exposure.Codemode},
		{Servers: []string{"a"}, Tools: []string{"top"}, Ceiling: exposure.Deferred},
		{Servers: []string{"b"}},
		{Servers: []string{"b"}, Ceiling: exposure.Codemode},
	}}
	for _, test := range []struct {
		server, tool    string
		configured, got exposure.Exposure
	}{
		{"a", "x", exposure.Direct, exposure.Codemode},
		{"a", "x", exposure.Codemode, exposure.Codemode},
		{"a", "x", exposure.Hidden, exposure.Hidden},
		{"a", "top", exposure.Direct, exposure.Deferred},
		{"a", "top", exposure.Codemode, exposure.Codemode}, // a ceiling never shows more
		{"b", "x", exposure.Direct, exposure.Direct},
		{"b", "x", exposure.Hidden, exposure.Hidden},
		{"c", "x", exposure.Direct, exposure.Hidden},
	} {
		if got := p.Exposure(test.server, test.tool, test.configured); got != test.got {
			t.Errorf("%s/%s configured as %s: %s; want %s", test.server, test.tool, test.configured, got, test.got)
		}
	}
}

func TestSame(t *testing.T) {
	a, b := &Principal{ID: "a"}, &Principal{ID: "b"}
	if !Same(a, &Principal{ID: "a", Grants: []Grant{All}}) || Same(a, b) || Same(nil, nil) || Same(a, nil) || Same(&Principal{}, &Principal{}) {
		t.Error("principals are not told apart by their ids")
	}
	if FromContext(context.Background()) != nil || FromContext(NewContext(t.Context(), a)) != a {
		t.Error("the context does not carry the principal")
	}
}

func TestEverything(t *testing.T) {
	for _, c := range []struct {
		grants []Grant
		want   bool
	}{
		{nil, false},
		{[]Grant{All}, true},
		{[]Grant{{Servers: []string{"*"}, Tools: []string{"x", "*"}, Ceiling: exposure.Codemode}}, true},
		{[]Grant{{Servers: []string{"x"}}, {Servers: []string{"a", "*"}}}, true},
		{[]Grant{{Servers: []string{"?*"}}}, false}, // whoever writes that means something by it
		{[]Grant{{Tools: []string{"get_*"}}}, false},
		{[]Grant{{Servers: []string{"a"}}, {Tools: []string{"*/x"}}}, false},
		{[]Grant{{Ceiling: exposure.Hidden}}, false},
	} {
		if p := (&Principal{Grants: c.grants}); p.Everything() != c.want {
			t.Errorf("%+v: %v", c.grants, !c.want)
		}
	}
}
