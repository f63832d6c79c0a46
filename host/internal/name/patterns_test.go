package name

import "testing"

func TestPatterns(t *testing.T) {
	all := Patterns{"github", "files/read_*", "*/ping"}
	for tool, want := range map[string]bool{
		"github/create_issue": true, "github/a/b": true, "githubs/x": false, "files/read_text": true, "files/write": false, "files/read": false,
		"other/ping": true, "other/pong": false,
	} {
		if got := all.Tool(tool); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
}

func TestPatternsOfServers(t *testing.T) {
	for _, c := range []struct {
		allow  []string
		server string
		want   bool
	}{
		{[]string{"github"}, "github", true},
		{[]string{"github"}, "githubs", false},
		{[]string{"files/read_*", "git*/x"}, "files", true},
		{[]string{"files/read_*", "git*/x"}, "github", true},
		{[]string{"files/read_*", "git*/x"}, "memory", false},
		{[]string{"*/ping"}, "memory", true},
	} {
		if got := Patterns(c.allow).Server(c.server); got != c.want {
			t.Errorf("%v %s: %v", c.allow, c.server, got)
		}
	}
}
