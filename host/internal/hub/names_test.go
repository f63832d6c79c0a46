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
			want := map[string]string{}
			for _, pair := range strings.Fields(step[1]) {
				tool, wire, _ := strings.Cut(pair, "=")
				want[tool] = wire
			}
			if got := n.give(strings.Fields(step[0])); !maps.Equal(got, want) {
				t.Errorf("%s, step %d: %v, want %v", name, i, got, want)
			}
		}
	}
}
