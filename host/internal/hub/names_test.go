package hub

import (
	"maps"
	"strings"
	"testing"
)

// Each step is the tools there are, and the names they have, canonical=wire.
func TestNamesStay(t *testing.T) {
	for name, steps := range map[string][][2]string{
		"together, nobody has it":            {{"a/x b/x a/y", "a/y=y"}, {"a/x b/x", ""}},
		"the first keeps it":                 {{"a/x", "a/x=x"}, {"a/x b/x b/y", "a/x=x b/y=y"}},
		"even while it is away":              {{"a/x", "a/x=x"}, {"b/x", ""}, {"b/x a/x", "a/x=x"}},
		"nobody had it, the other goes":      {{"a/x b/x", ""}, {"b/x", "b/x=x"}, {"a/x b/x", "b/x=x"}},
		"an altered name is a name as well":  {{"a/x.y", "a/x.y=x_y_b24ca9b7"}, {"a/x.y b/x.y", "a/x.y=x_y_b24ca9b7"}},
		"one of the host's own is not taken": {{"a/tool_call", "a/tool_call=tool_call_99bd30a8"}},
	} {
		var n names
		for i, step := range steps {
			if got, want := n.give(strings.Fields(step[0])), pairs(step[1]); !maps.Equal(got, want) {
				t.Errorf("%s, step %d: %v, want %v", name, i, got, want)
			}
		}
	}
}

// Another host gives the names that an earlier one gave, to tools that it knows.
func TestNamesComeBack(t *testing.T) {
	for name, c := range map[string]struct{ kept, known, want string }{
		"in spite of another":   {"a/x=x", "a/x b/x b/y", "a/x=x b/y=y"},
		"of what is known":      {"a/x=x", "b/x", "b/x=x"},
		"that are right":        {"a/x=y b/x=", "a/x b/x", ""},
		"of servers configured": {"c/x=x", "a/x b/x", ""},
	} {
		var n names
		n.seed(pairs(c.kept), strings.Fields(c.known))
		if got := n.give(strings.Fields(c.known)); !maps.Equal(got, pairs(c.want)) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func pairs(text string) map[string]string {
	m := map[string]string{}
	for _, pair := range strings.Fields(text) {
		tool, wire, _ := strings.Cut(pair, "=")
		m[tool] = wire
	}
	return m
}
