package name

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	wirePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	markPattern = regexp.MustCompile(`_[0-9a-f]{8}$`)
)

func mark(s string) string { return fmt.Sprintf("_%x", sha256.Sum256([]byte(s)))[:9] }

func TestWire(t *testing.T) {
	x := strings.Repeat("x", 80)
	for _, c := range []struct{ server, tool, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"my-db", "Query", "my-db__Query"},
		{"a", "_b", "a___b"},
		{"n", "b__c", "n__b__c"},
		{"n", "tool_call", "n__tool_call"},
		{"n", x[:61], "n__" + x[:61]},
		{"n", x[:62], "n__" + x[:52] + mark("n/"+x[:62])},
		{"n", "a.b", "n__a_b" + mark("n/a.b")},
		{"n", "a/b", "n__a_b" + mark("n/a/b")},
		{"n", "ns:act", "n__ns_act" + mark("n/ns:act")},
		{"n", "größe", "n__gr__e" + mark("n/größe")},
		{"n", "a\xffb", "n__a_b" + mark("n/a\xffb")},
		{"n", "", "n__" + mark("n/")},
		// Names that end like altered ones.
		{"n", "report_20240131", "n__report_20240131" + mark("n/report_20240131")},
		{"n", "deadbeef", "n__deadbeef" + mark("n/deadbeef")},
		{"n", "x_DEADBEEF", "n__x_DEADBEEF" + mark("n/x_DEADBEEF")},
		{"n", "x_deadbee", "n__x_deadbee"},
		{"n", "x_deadbeefs", "n__x_deadbeefs"},
	} {
		if got := Wire(c.server, c.tool); got != c.want {
			t.Errorf("Wire(%q, %q) = %q; want %q", c.server, c.tool, got, c.want)
		}
	}
}

// A tool named after the altered form of another does not get its wire name.
func TestNobodyCanTakeAnAlteredName(t *testing.T) {
	victim := Wire("n", "a.b")
	_, posing, _ := strings.Cut(victim, "__")
	if got := Wire("n", posing); got == victim {
		t.Errorf("n/a.b and n/%s are both %q", posing, got)
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct{ tool, want string }{
		{"search", "search"},
		{"tool_search", "tool_search" + mark("tool_search")},
		{"tool_call", "tool_call" + mark("tool_call")},
		{"codemode", "codemode" + mark("codemode")},
		{"CodeMode", "CodeMode" + mark("CodeMode")},
		{"result_read", "result_read" + mark("result_read")},
		{"a.b", "a_b" + mark("a.b")},
		{"", mark("")},
	} {
		if got := Plain(c.tool); got != c.want {
			t.Errorf("Plain(%q) = %q; want %q", c.tool, got, c.want)
		}
	}
}

// Case B125: a.b, a_b, a-b and a/b on one server are four tools. Case B124: names
// of 65 characters that differ in the last one stay two.
func TestTable(t *testing.T) {
	long := strings.Repeat("y", 64)
	names := []string{"n/a.b", "n/a_b", "n/a-b", "n/a/b", "n/" + long + "1", "n/" + long + "2", "a/_b", "db/q", "my_db/q"}
	table := NewTable(names)
	seen := map[string]string{}
	for _, n := range names {
		w, ok := table.Wire(n)
		if !ok || seen[w] != "" {
			t.Fatalf("%q has the wire name %q of %q", n, w, seen[w])
		}
		seen[w] = n
		for _, spelled := range []string{n, w} {
			if got, ok := table.Resolve(spelled); !ok || got != n {
				t.Errorf("Resolve(%q) = %q, %v; want %q", spelled, got, ok, n)
			}
		}
	}
	slices.Reverse(names)
	again := NewTable(names)
	for w, n := range seen {
		if got, _ := again.Canonical(w); got != n {
			t.Errorf("in another order %q is %q instead of %q", w, got, n)
		}
	}
	if _, ok := table.Resolve("n__a.b"); ok {
		t.Error("a name that nobody has was resolved")
	}
	if c := table.Collisions(); len(c) != 0 {
		t.Errorf("collisions: %v", c)
	}
	if got := table.Hint("n__a_c", 1); !slices.Equal(got, []string{"n__a-b"}) && !slices.Equal(got, []string{"n__a_b"}) {
		t.Errorf("Hint = %q", got)
	}
	if got := table.Hint("db/qq", 1); !slices.Equal(got, []string{"db/q"}) {
		t.Errorf("Hint = %q", got)
	}
}

func TestCollisionGivesTheNameToNobody(t *testing.T) {
	table := NewPlainTable([]string{"b/search", "a/search", "a/search", "a/other", "broken"})
	if got, ok := table.Canonical("search"); ok {
		t.Errorf("search leads to %q although two tools claim it", got)
	}
	c := table.Collisions()
	if len(c) != 1 || c[0].Wire != "search" || !slices.Equal(c[0].Canonical, []string{"a/search", "b/search"}) {
		t.Errorf("Collisions() = %v", c)
	}
	if w, ok := table.Wire("a/search"); ok {
		t.Errorf("a/search has the wire name %q", w)
	}
	if got, ok := table.Resolve("a/search"); !ok || got != "a/search" {
		t.Error("a tool without a wire name is lost under its canonical one")
	}
	if w, ok := table.Wire("a/other"); !ok || w != "other" {
		t.Errorf("Wire(a/other) = %q, %v", w, ok)
	}
	if _, ok := table.Resolve("broken"); ok {
		t.Error("a name without a server was taken in")
	}
	var zero Table
	if _, ok := zero.Resolve("a/b"); ok || zero.Hint("a/b", 3) != nil {
		t.Error("the zero table knows a name")
	}
}

// FuzzWire: every name fits, unaltered ones are the plain join and end like no
// altered one, and different tools have different names.
func FuzzWire(f *testing.F) {
	f.Add("a", "x", "a", "X")
	f.Add("a", "b.c", "a", "b_c_00000000")
	f.Add("a", strings.Repeat("z", 70), "a", strings.Repeat("z", 71))
	f.Add("my-db", "é", "my_db", "__")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		for _, n := range [][2]string{{s1, t1}, {s2, t2}} {
			w := Wire(n[0], n[1])
			if !wirePattern.MatchString(w) {
				t.Fatalf("Wire(%q, %q) = %q", n[0], n[1], w)
			}
			if w != n[0]+"__"+n[1] && !markPattern.MatchString(w) || w == n[0]+"__"+n[1] && markPattern.MatchString(w) {
				t.Fatalf("Wire(%q, %q) = %q: altered and marked do not agree", n[0], n[1], w)
			}
			p := Plain(n[1])
			if !wirePattern.MatchString(p) || Reserved(p) || p != n[1] && !markPattern.MatchString(p) {
				t.Fatalf("Plain(%q) = %q", n[1], p)
			}
		}
		if CheckServer(s1) != nil || CheckServer(s2) != nil || s1 == s2 && t1 == t2 {
			return
		}
		if Wire(s1, t1) == Wire(s2, t2) {
			t.Fatalf("%q/%q and %q/%q are both %q", s1, t1, s2, t2, Wire(s1, t1))
		}
	})
}
