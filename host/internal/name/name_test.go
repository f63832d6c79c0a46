package name

import (
	"strings"
	"testing"
)

func TestSplitAtTheFirstSlash(t *testing.T) {
	for _, c := range []struct {
		in, server, tool string
		ok               bool
	}{
		{"github/create_issue", "github", "create_issue", true},
		{"n/a/b", "n", "a/b", true},
		{"n//b", "n", "/b", true},
		{"github", "", "", false},
		{"github/", "", "", false},
		{"/create_issue", "", "", false},
		{"/", "", "", false},
		{"", "", "", false},
	} {
		server, tool, ok := Split(c.in)
		if server != c.server || tool != c.tool || ok != c.ok {
			t.Errorf("Split(%q) = %q, %q, %v; want %q, %q, %v", c.in, server, tool, ok, c.server, c.tool, c.ok)
		}
		if ok && Join(server, tool) != c.in {
			t.Errorf("Join(Split(%q)) = %q", c.in, Join(server, tool))
		}
	}
}

func TestCheckServer(t *testing.T) {
	for _, good := range []string{"a", "7", "github", "my_db", "my-db", "A-b_C", "a-_b", strings.Repeat("x", 32)} {
		if err := CheckServer(good); err != nil {
			t.Errorf("CheckServer(%q) = %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		"":                      "empty",
		"a_":                    "ends with '_'",
		"_a":                    "begins with '_'",
		"-":                     "begins with '-'",
		"a-":                    "ends with '-'",
		"a__b":                  `"__"`,
		"a/b":                   `'/'`,
		"a.b":                   `'.'`,
		"a b":                   `' '`,
		"größe":                 `'ö'`,
		strings.Repeat("x", 33): "33 characters",
	} {
		err := CheckServer(bad)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("CheckServer(%q) = %v; want it to say %s", bad, err, says)
		}
	}
}

func TestSameServer(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"my-db", "my_db", true},
		{"GitHub", "github", true},
		{"My-DB", "my_db", true},
		{"mydb", "my_db", false},
		{"a", "b", false},
	} {
		if SameServer(c.a, c.b) != c.same {
			t.Errorf("SameServer(%q, %q) = %v", c.a, c.b, !c.same)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		match      bool
	}{
		{"delete_*", "delete_repo", true},
		{"delete_*", "delete_", true},
		{"delete_*", "undelete_repo", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"a*z", "a/b/z", true},
		{"a*z", "a/b/zy", false},
		{"*ab", "aab", true},
		{"*a*b", "xaxxb", true},
		{"get_?", "get_x", true},
		{"get_?", "get_", false},
		{"get_?", "get_xy", false},
		{"?", "ü", true},
		{"*?x", "üüx", true},
		{"", "", true},
		{"", "a", false},
		{"Get", "get", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`a\*`, `a\b`, true},
		{"a**b", "ab", true},
	} {
		if Match(c.pattern, c.s) != c.match {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.s, !c.match)
		}
	}
}

// A pattern of a stranger must not cost more than the product of the lengths.
func TestMatchIsNotExponential(t *testing.T) {
	if Match(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 5000)) {
		t.Error("matched")
	}
}

func TestNear(t *testing.T) {
	have := []string{"github/create_issue", "github/create_pull_request", "github/get_me", "files/read_text_file", "files/read_text_file"}
	for _, c := range []struct {
		want  string
		max   int
		names string
	}{
		{"github/creat_issue", 3, "github/create_issue"},
		{"GitHub/Create-Issue", 3, "github/create_issue"},
		{"create_issue", 3, "github/create_issue"},
		{"files/read_text_fle", 3, "files/read_text_file"},
		{"github/get_you", 1, "github/get_me"},
		{"zzz", 3, ""},
		{"", 3, ""},
		{"github/creat_issue", 0, ""},
		{strings.Repeat("x", maxNear+1), 3, ""},
		{"github", 2, "github/get_me github/create_issue"},
	} {
		if got := strings.Join(Near(c.want, have, c.max), " "); got != c.names {
			t.Errorf("Near(%q, %d) = %q; want %q", c.want, c.max, got, c.names)
		}
	}
	for want, name := range map[string]string{"nmae": "name", "naem": "name", "anme": "name", "nmea": "", "emna": "", "ba": "ab", "größe": "größe", "größ": "größe", "gröeß": "größe"} {
		if got := strings.Join(Near(want, []string{"name", "ab", "größe"}, 1), " "); got != name {
			t.Errorf("Near(%q) = %q; want %q", want, got, name)
		}
	}
	if got := strings.Join(Near("ab", []string{"ad", "ac", "b", "xyz"}, 9), " "); got != "ac ad b" {
		t.Errorf("ties are not in alphabetical order: %q", got)
	}
}
