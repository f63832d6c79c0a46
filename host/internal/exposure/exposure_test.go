package exposure

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for word, want := range map[string]Exposure{
		"direct": Direct, "deferred": Deferred, "codemode": Codemode, "codemode-deferred": Codemode, "hidden": Hidden,
	} {
		if got, err := Parse(word); err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "Direct", "visible", "codemode "} {
		if got, err := Parse(word); err == nil || !strings.Contains(err.Error(), "deferred, codemode") {
			t.Errorf("Parse(%q) = %q, %v; want an error that names the words", word, got, err)
		}
	}
}

func TestRulesOf(t *testing.T) {
	rules := Rules{Default: Deferred, Tools: []Pattern{
		{"*_repo", Codemode},
		{"delete_*", Hidden},
		{"delete_repo", Direct},
		{"get_?", Direct},
		{"admin*", Hidden},
		{"a*b", Codemode},
	}}
	for tool, want := range map[string]Exposure{
		"delete_repo":      Direct,   // its own name wins over both globs before it
		"create_repo":      Codemode, //
		"delete_all_repo":  Codemode, // the first glob in file order
		"delete_issue":     Hidden,
		"get_x":            Direct,
		"get_xy":           Deferred,
		"admin/users/list": Hidden, // * matches a slash
		"Delete_x":         Deferred,
		"other":            Deferred,
	} {
		if got := rules.Of(tool); got != want {
			t.Errorf("Of(%q) = %q; want %q", tool, got, want)
		}
	}
	if got := (Rules{}).Of("x"); got != Codemode {
		t.Errorf("without any rule: %q; want codemode", got)
	}
}

// The table of docs/architecture.md, row by row: list, tool_search, by its own name,
// tool_call for a model; then what scripts, the CLI and programs may do.
func TestTheTable(t *testing.T) {
	const (
		yes    = "yes"
		absent = "as if absent"
	)
	table := []struct {
		exposure                         Exposure
		list, search, byName, byToolCall string
		others                           bool
	}{
		{Direct, yes, yes, yes, yes, true},
		{Deferred, "", yes, "tool_call", yes, true},
		{Codemode, "", yes, "codemode", "codemode", true},
		{Hidden, "", "", absent, absent, false},
		{"nonsense", "", "", absent, absent, false},
		{"", "", "", absent, absent, false},
	}
	for _, row := range table {
		e := row.exposure
		for _, c := range []Caller{Model, "", "nobody"} {
			if got := e.Listed(c); got != (row.list == yes) {
				t.Errorf("%q.Listed(%q) = %v", e, c, got)
			}
			if got := e.Searchable(c); got != (row.search == yes) {
				t.Errorf("%q.Searchable(%q) = %v", e, c, got)
			}
			for via, want := range map[Via]string{ByName: row.byName, ByBridge: row.byToolCall} {
				ok, reason := e.Callable(c, via)
				if ok != (want == yes) {
					t.Errorf("%q.Callable(%q, %q) = %v; want %s", e, c, via, ok, want)
				}
				if (want == yes || want == absent) && reason != "" {
					t.Errorf("%q.Callable(%q, %q) gives the reason %q; want none", e, c, via, reason)
				}
				if want != yes && want != absent && !strings.Contains(reason, "the tool "+want) {
					t.Errorf("%q.Callable(%q, %q) gives the reason %q; want it to name %s", e, c, via, reason, want)
				}
			}
		}
		for _, c := range []Caller{Script, CLI, Program} {
			for _, via := range []Via{ByName, ByBridge, ""} {
				if ok, reason := e.Callable(c, via); ok != row.others || reason != "" {
					t.Errorf("%q.Callable(%q, %q) = %v, %q; want %v", e, c, via, ok, reason, row.others)
				}
			}
			if e.Listed(c) != row.others || e.Searchable(c) != row.others {
				t.Errorf("%q is listed %v and searchable %v for %q; want %v", e, e.Listed(c), e.Searchable(c), c, row.others)
			}
		}
	}
}
