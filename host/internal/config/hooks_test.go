package config

import (
	"strings"
	"testing"
	"time"
)

const hooked = `[hooks.scan]
plugin = "./scanner"
on_error = "open"
timeout = "250ms"
tools = ["files/*"]
config = { rules = ["a"], key = "${KEY:-none}" }

[hooks.limit]
plugin = "ratelimit"

[servers.files]
command = "x"
exposure = "direct"
[servers.files.tool_exposure]
"b*" = "hidden"
"a" = "direct"

[servers.other]
url = "https://x.example"
`

func TestHooks(t *testing.T) {
	c := Parse("m.toml", []byte(hooked))
	if len(c.Problems) > 0 || len(c.Hooks) != 2 {
		t.Fatalf("%v %v", c.Problems, c.Hooks)
	}
	scan, limit := c.Hooks[0], c.Hooks[1]
	if scan.Name != "scan" || scan.Line != 1 || scan.OnError != OnErrorOpen || scan.Timeout != 250*time.Millisecond || scan.Tools[0] != "files/*" {
		t.Errorf("%+v", scan)
	}
	if limit.OnError != OnErrorClosed || limit.Timeout != 5*time.Second || !limit.Enabled || len(limit.Tools) > 0 {
		t.Errorf("%+v", limit)
	}
	res, err := scan.Resolve(t.Context(), Resolver{Lookup: func(string) (string, bool) { return "", false }})
	if err != nil || string(res.Config) != `{"rules":["a"],"key":"none"}` || !strings.HasSuffix(res.Plugin, "/scanner") {
		t.Errorf("%+v, %v", res, err)
	}
	for _, test := range []struct{ text, want string }{
		{"[hooks.a]\n", "m:1: hooks.a: nothing says which hook this is; set plugin"},
		{"[hooks.a]\nplugin='x'\non_error='never'", `m:3: hooks.a.on_error: "never" is not allowed; write "closed" or "open"`},
		{"[hooks.a]\nplugin='x'\ntimeout='2m'", "m:3: hooks.a.timeout: "},
		{"[hooks.a]\nplugn='x'", "m:2: hooks.a.plugn: unknown key; did you mean plugin?"},
		{"hooks=1", "m:1: hooks: must be a table"},
		{"[hooks.'a b']\nplugin='x'", "m:1: hooks.\"a b\": is not a hook's name"},
	} {
		c := Parse("m", []byte(test.text))
		if len(c.Hooks) > 0 || len(c.Problems) == 0 || !strings.HasPrefix(c.Problems[0].Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, c.Problems, test.want)
		}
	}
	_, err = Parse("m.toml", []byte("[hooks.a]\nplugin='x'\nenv={K='$NOT_THERE'}")).Hooks[0].Resolve(t.Context(), Resolver{Lookup: func(string) (string, bool) { return "", false }})
	if err == nil || !strings.Contains(err.Error(), "NOT_THERE is not set (m.toml:3, hooks.a.env.K)") {
		t.Errorf("%v", err)
	}
	project := Merge([]Source{{File: "p", Layer: Project, Data: []byte(hooked)}})
	if len(project.Hooks) > 0 || len(project.Problems) != 1 || len(project.Servers) != 2 {
		t.Errorf("a project's hooks: %v %v", project.Hooks, project.Problems)
	}
}

func TestEntry(t *testing.T) {
	c := Parse("m.toml", []byte(hooked))
	if got, want := string(c.Servers[0].Entry()), `{"command":"x","exposure":"direct","tool_exposure":{"b*":"hidden","a":"direct"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	both := Merge([]Source{
		{File: "u", Layer: User, Data: []byte("[servers.s]\ncommand='x'\nenabled=true\ntool_exposure={a='direct'}\n")},
		{File: "p", Layer: Project, Data: []byte("[servers.s]\nenabled=false\ntool_exposure={b='hidden'}\n")},
	})
	if got, want := string(both.Servers[0].Entry()), `{"command":"x","enabled":false,"tool_exposure":{"b":"hidden"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEdit(t *testing.T) {
	c := Parse("m.toml", []byte(hooked))
	by := c.Hooks[1]
	edited, err := c.Edit(by, []ServerEdit{
		{Name: "files", Entry: []byte(`{"command":"y","args":["1"],"max_concurrent":3,"tool_exposure":{"z":"direct","a*":"hidden"}}`)},
		{Name: "other"},
		{Name: "new", Entry: []byte(`{"url":"https://n.example","timeout":"5s"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(edited.Servers) != 2 || len(c.Servers) != 2 || c.Servers[0].Command != "x" {
		t.Fatalf("%v; before %v", edited.Servers, c.Servers)
	}
	files, added := edited.Servers[0], edited.Servers[1]
	if files.Name != "files" || files.Command != "y" || files.MaxConcurrent != 3 || files.Line != c.Servers[0].Line || files.Dir != c.Servers[0].Dir {
		t.Errorf("%+v", files)
	}
	// The order of patterns is that of the text.
	if len(files.Rules.Tools) != 2 || files.Rules.Tools[0].Pattern != "z" || files.Rules.Default != "codemode" {
		t.Errorf("%+v", files.Rules)
	}
	if added.Name != "new" || added.Timeout != 5*time.Second || added.Line != by.Line || added.Rules.Default != "codemode" {
		t.Errorf("%+v", added)
	}
	// What one edit made, another may edit.
	if again, err := edited.Edit(by, []ServerEdit{{Name: "new", Entry: added.Entry()}}); err != nil || again.Servers[1].Timeout != 5*time.Second {
		t.Errorf("%v", err)
	}
	for _, test := range []struct{ name, entry, want string }{
		{"files", `{"command":"y","timout":"1s"}`, "servers.files.timout: unknown key; did you mean timeout?"},
		{"files", `{}`, "servers.files: nothing says how to reach this server"},
		{"files", `{"command":"y","url":"https://x"}`, "servers.files.url: command and url may not both be set"},
		{"files", `{"command":null}`, "servers.files: the entry holds null"},
		{"files", `[]`, "servers.files: must be a table"},
		{"files", `{"command":`, "servers.files: the entry is not JSON"},
		{"files", `{"command":"y","max_concurrent":1e999}`, "servers.files: the entry holds the number"},
		{"files", `{"command":"y","config":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100) + `}`, "servers.files: the entry keys are nested too deep"},
		{"Files", `{"command":"y"}`, "servers.Files: differs only in case"},
		{"a__b", `{"command":"y"}`, "servers.a__b: "},
		{"gone", ``, "servers.gone: cannot be removed"},
	} {
		edit := ServerEdit{Name: test.name}
		if test.entry != "" {
			edit.Entry = []byte(test.entry)
		}
		_, err := c.Edit(by, []ServerEdit{{Name: "other"}, edit})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s %.60s: %v, want %s", test.name, test.entry, err, test.want)
		}
		if len(c.Servers) != 2 {
			t.Fatal("an edit that failed took a server out")
		}
	}
}
