package config

import "testing"

func TestConsentFor(t *testing.T) {
	const def = "command='x'\n"
	for _, c := range []struct {
		user, project string
		adapter       bool
		want          map[string]string // by tool; with a ! when a file says it
	}{
		{user: def, want: map[string]string{"t": "allow"}},
		{user: def, adapter: true, want: map[string]string{"t": "ask"}},
		{user: def + "consent='allow'", adapter: true, want: map[string]string{"t": "allow!"}},
		{user: def + "consent='ask'", want: map[string]string{"t": "ask!"}},
		// An exact name, then the first pattern in the file, then what nothing said means.
		{user: def + "consent={'t*'='deny', 't?'='ask', tx='allow'}", want: map[string]string{"tx": "allow!", "ty": "deny!", "x": "allow"}},
		{user: def + "consent={'t*'='deny', 't?'='ask', tx='allow'}", adapter: true, want: map[string]string{"tx": "allow!", "x": "ask"}},
		// A project makes it stricter, never laxer, whichever way it says it.
		{user: def + "consent='ask'", project: "consent='deny'", want: map[string]string{"t": "deny!"}},
		{user: def + "consent='deny'", project: "consent='ask'", want: map[string]string{"t": "deny!"}},
		{user: def + "consent='deny'", project: "command='p'", want: map[string]string{"t": "deny!"}},
		{user: def + "consent='ask'", project: "command='p'\nconsent='allow'", want: map[string]string{"t": "ask!"}},
		{user: def, project: "consent='allow'", adapter: true, want: map[string]string{"t": "ask"}},
		{user: def, project: "consent='ask'", adapter: true, want: map[string]string{"t": "ask!"}},
		{user: def, project: "consent={a='deny'}", want: map[string]string{"a": "deny!", "t": "allow"}},
		{user: def + "consent={a='ask'}", project: "consent={b='ask'}", want: map[string]string{"a": "ask!", "b": "ask!", "t": "allow"}},
		{user: def + "consent='ask'", project: "consent={}", want: map[string]string{"t": "ask!"}},
		{user: def + "consent='ask'", project: "enabled=true", want: map[string]string{"t": "ask!"}},
		// A server of its own is the project's.
		{project: "command='p'\nconsent='allow'", adapter: true, want: map[string]string{"t": "allow!"}},
	} {
		user, project := "", ""
		if c.user != "" {
			user = "[servers.s]\n" + c.user + "\n"
		}
		if c.project != "" {
			project = "[servers.s]\n" + c.project + "\n"
		}
		cfg := layered(user, project)
		s := cfg.Server("s")
		if s == nil || len(cfg.Problems) > 0 {
			t.Errorf("%q %q: %v", c.user, c.project, cfg.Problems)
			continue
		}
		for tool, want := range c.want {
			word, said := s.ConsentFor(tool, c.adapter)
			if said {
				word += "!"
			}
			if word != want {
				t.Errorf("%q, project %q, adapter %v: %s is %s, want %s", c.user, c.project, c.adapter, tool, word, want)
			}
		}
	}
}
