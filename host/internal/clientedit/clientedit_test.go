package clientedit

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/clientfile"
)

var entry = Entry{Name: "collet", Command: "/opt/bin/collet", Args: []string{"serve"}}

// jsonFile and tomlFile are what the cases are written for.
func jsonFile(data string) File {
	return File{Client: "cursor", Path: "/h/.cursor/mcp.json", Data: []byte(data)}
}

func tomlFile(data string) File {
	return File{Client: "codex", Path: "/h/.codex/config.toml", Data: []byte(data)}
}

const fresh = `{
  "mcpServers": {
    "collet": {
      "command": "/opt/bin/collet",
      "args": ["serve"]
    }
  }
}
`

func TestConnectJSON(t *testing.T) {
	block := `"collet": {
      "command": "/opt/bin/collet",
      "args": ["serve"]
    }`
	for name, c := range map[string]struct{ before, after string }{
		"no file":                   {"", fresh},
		"blank":                     {"\n", "\n" + fresh},
		"mark alone":                {"\xef\xbb\xbf", "\xef\xbb\xbf" + fresh},
		"comment only":              {"// mine", "// mine\n" + fresh},
		"empty object":              {"{}\n", fresh},
		"empty object with a blank": {"{ }", strings.TrimSuffix(fresh, "\n")},
		"empty object with a comment": {"{\n  // none yet\n}\n",
			"{\n  \"mcpServers\": {\n    " + block + "\n  }\n  // none yet\n}\n"},
		"null":        {"{\n  \"mcpServers\": null\n}\n", fresh},
		"empty table": {"{\n  \"mcpServers\": {}\n}\n", fresh},
		"other members": {"{\n  \"theme\": \"dark\"\n}\n",
			"{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    " + block + "\n  }\n}\n"},
		"comment behind the last": {"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"} // mine\n    // end\n  }\n}",
			"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}, // mine\n    " + block + "\n    // end\n  }\n}"},
		"trailing comma": {"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}, /* a\n b */\n  },\n}",
			"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}, /* a\n b */\n    " + block + ",\n  },\n}"},
		"tabs": {"{\n\t\"mcpServers\": {\n\t\t\"x\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}\n",
			"{\n\t\"mcpServers\": {\n\t\t\"x\": {\n\t\t\t\"command\": \"x\"\n\t\t},\n\t\t\"collet\": {\n\t\t\t\"command\": \"/opt/bin/collet\",\n\t\t\t\"args\": [\"serve\"]\n\t\t}\n\t}\n}\n"},
		"CRLF": {"\xef\xbb\xbf{\r\n    \"mcpServers\": {\r\n        \"x\": {\"command\": \"x\"} // y\r\n    }\r\n}\r\n",
			"\xef\xbb\xbf{\r\n    \"mcpServers\": {\r\n        \"x\": {\"command\": \"x\"}, // y\r\n        \"collet\": {\r\n            \"command\": \"/opt/bin/collet\",\r\n            \"args\": [\"serve\"]\r\n        }\r\n    }\r\n}\r\n"},
		"one line": {`{"a":1,"mcpServers":{"x":{"command":"x"}}}`,
			`{"a":1,"mcpServers":{"x":{"command":"x"},"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`},
		"one line with blanks": {`{ "mcpServers": { "x": { "command": "x" } } }`,
			`{ "mcpServers": { "x": { "command": "x" }, "collet": {"command": "/opt/bin/collet", "args": ["serve"]} } }`},
		"one line, empty": {`{"a":1,"mcpServers":{}}`,
			`{"a":1,"mcpServers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`},
		"the last of two tables counts": {"{\n  \"mcpServers\": {\"a\": {\"command\": \"a\"}},\n  \"mcpServers\": {}\n}\n",
			"{\n  \"mcpServers\": {\"a\": {\"command\": \"a\"}},\n  \"mcpServers\": {\n    " + block + "\n  }\n}\n"},
		"moved": {`{"mcpServers": {"collet": {"command": "/old/collet", "args": ["serve", "--config", "/a"], "env": {"A": "1"}}}}`,
			`{"mcpServers": {"collet": {"command": "/opt/bin/collet", "args": ["serve"], "env": {"A": "1"}}}}`},
		"no entry at all": {`{"mcpServers": {"collet": 7}}`,
			`{"mcpServers": {"collet": {"command": "/opt/bin/collet", "args": ["serve"]}}}`},
		"escaped key": {`{"mcpServers": {"c\u006fllet": {"command": "/opt/bin/collet", "args": ["serve", "x"]}}}`,
			`{"mcpServers": {"c\u006fllet": {"command": "/opt/bin/collet", "args": ["serve"]}}}`},
		"as it should be": {`{"mcpServers": {"collet": {"args": ["serve"], /* */ "command": "/opt/bin/\u0063ollet"}}}`,
			`{"mcpServers": {"collet": {"args": ["serve"], /* */ "command": "/opt/bin/\u0063ollet"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, jsonFile(c.before), entry, c.after)
		})
	}
}

// check connects, and then again, which changes nothing.
func check(t *testing.T, f File, e Entry, want string) {
	t.Helper()
	before := bytes.Clone(f.Data)
	plan, err := Connect(f, e)
	if err != nil {
		t.Fatal(err)
	}
	if string(plan.After) != want {
		t.Errorf("got\n%q, want\n%q", plan.After, want)
	}
	if (plan.Action == Unchanged) != (want == string(before)) {
		t.Errorf("action %s", plan.Action)
	}
	if !bytes.Equal(f.Data, before) {
		t.Error("the file as it was has changed")
	}
	f.Data = plan.After
	if again, err := Connect(f, e); err != nil || again.Action != Unchanged || string(again.After) != want {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestConnectTOML(t *testing.T) {
	block := "[mcp_servers.collet]\ncommand = \"/opt/bin/collet\"\nargs = [\"serve\"]\n"
	for name, c := range map[string]struct{ before, after string }{
		"no file":       {"", block},
		"other tables":  {"model = \"x\" # mine\n[mcp_servers.a]\ncommand = \"a\"\n", "model = \"x\" # mine\n[mcp_servers.a]\ncommand = \"a\"\n\n" + block},
		"no line end":   {"model = \"x\"", "model = \"x\"\n\n" + block},
		"CRLF and mark": {"\xef\xbb\xbfmodel = \"x\"\r\n", "\xef\xbb\xbfmodel = \"x\"\r\n\r\n" + strings.ReplaceAll(block, "\n", "\r\n")},
		"dotted":        {"mcp_servers.a.command = \"a\"\n", "mcp_servers.a.command = \"a\"\n\n" + block},
		"moved": {"[ mcp_servers . \"collet\" ] # mine\ncommand = '/old/collet' # here\nargs = [\n  \"serve\", # so\n]\nenabled = false\n\n[mcp_servers.collet.env]\nA = \"1\"\n",
			"[ mcp_servers . \"collet\" ] # mine\ncommand = \"/opt/bin/collet\" # here\nargs = [\n  \"serve\", # so\n]\nenabled = false\n\n[mcp_servers.collet.env]\nA = \"1\"\n"},
		"without args": {"[mcp_servers.collet]\ncommand = \"/opt/bin/collet\" # here\n[x]\na = 1",
			"[mcp_servers.collet]\ncommand = \"/opt/bin/collet\" # here\nargs = [\"serve\"]\n[x]\na = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tomlFile(c.before), entry, c.after)
		})
	}
}

// TestClients writes each client's entry, by what its documentation shows.
func TestClients(t *testing.T) {
	remote := Entry{Name: "collet", URL: "http://127.0.0.1:8080/mcp", TokenEnv: "TOKEN"}
	for client, c := range map[string]struct{ path, started, dialed string }{
		"claude-desktop": {"claude_desktop_config.json", `{"mcpServers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`, ""},
		"claude-code": {".claude.json", `{"mcpServers":{"collet":{"type":"stdio","command":"/opt/bin/collet","args":["serve"]}}}`,
			`{"mcpServers":{"collet":{"type":"http","url":"http://127.0.0.1:8080/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`},
		"vscode": {"mcp.json", `{"servers":{"collet":{"type":"stdio","command":"/opt/bin/collet","args":["serve"]}}}`,
			`{"servers":{"collet":{"type":"http","url":"http://127.0.0.1:8080/mcp","headers":{"Authorization":"Bearer ${env:TOKEN}"}}}}`},
		"cursor": {"mcp.json", `{"mcpServers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`,
			`{"mcpServers":{"collet":{"url":"http://127.0.0.1:8080/mcp","headers":{"Authorization":"Bearer ${env:TOKEN}"}}}}`},
		"windsurf": {"mcp_config.json", `{"mcpServers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`,
			`{"mcpServers":{"collet":{"serverUrl":"http://127.0.0.1:8080/mcp","headers":{"Authorization":"Bearer ${env:TOKEN}"}}}}`},
		"codex": {"config.toml", `{"mcp_servers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`,
			`{"mcp_servers":{"collet":{"url":"http://127.0.0.1:8080/mcp","bearer_token_env_var":"TOKEN"}}}`},
		"gemini": {"settings.json", `{"mcpServers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`,
			`{"mcpServers":{"collet":{"httpUrl":"http://127.0.0.1:8080/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`},
		"zed": {"settings.json", `{"context_servers":{"collet":{"command":"/opt/bin/collet","args":["serve"]}}}`, ""},
	} {
		t.Run(client, func(t *testing.T) {
			f := File{Client: client, Path: "/h/" + c.path}
			says := func(e Entry, want string) {
				t.Helper()
				plan, err := Connect(f, e)
				if want == "" {
					if err == nil {
						t.Errorf("it took %+v", e)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				raw, err := clientfile.JSON(f.Path, plan.After)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(strings.Fields(string(raw)), ""); got != strings.ReplaceAll(want, " ", "") {
					// "Bearer ${TOKEN}" holds the one blank that counts.
					t.Errorf("got %s, want %s", raw, want)
				}
				gone, err := Disconnect(File{Client: client, Path: f.Path, Data: plan.After}, "collet")
				if err != nil || gone.Action != Removed || bytes.Contains(gone.After, []byte("collet\"")) {
					t.Errorf("removed: %s, %v", gone.After, err)
				}
			}
			says(entry, c.started)
			says(remote, c.dialed)
		})
	}
	if got := len(dialects); got != len(Clients()) {
		t.Errorf("%d dialects, but clients %v", got, Clients())
	}
}

func TestChangesTransport(t *testing.T) {
	f := jsonFile(`{"mcpServers": {"collet": {"command": "/opt/bin/collet", "args": ["serve"], "env": {}, "disabled": true}}}`)
	plan, err := Connect(f, Entry{Name: "collet", URL: "http://h/mcp"})
	if err == nil {
		f.Data = plan.After
	}
	want := `{"mcpServers": {"collet": {"disabled": true, "url": "http://h/mcp"}}}`
	if err != nil || string(f.Data) != want {
		t.Fatalf("got %s, %v, want %s", f.Data, err, want)
	}
	codex := tomlFile("[mcp_servers.collet]\ncommand = \"collet\"\nargs = [\"serve\"]\nenabled = true\n[mcp_servers.collet.env]\nA = \"1\"\n[x]\n")
	plan, err = Connect(codex, Entry{Name: "collet", URL: "http://h/mcp"})
	if want := "[mcp_servers.collet]\nenabled = true\nurl = \"http://h/mcp\"\n[x]\n"; err != nil || string(plan.After) != want {
		t.Fatalf("got %q, %v, want %q", plan.After, err, want)
	}
}

func TestRefused(t *testing.T) {
	other := Entry{Name: "tools", Command: "/elsewhere/collet", Args: []string{"serve"}}
	for name, c := range map[string]struct {
		f    File
		e    Entry
		want string
	}{
		"no JSON":           {jsonFile("{\n  \"a\": }\n"), entry, "not JSON at line 2, column 8"},
		"no TOML":           {tomlFile("a = = 1"), entry, "not TOML at line 1"},
		"UTF-16":            {jsonFile("\xff\xfe{\x00}\x00"), entry, "UTF-16"},
		"an array":          {jsonFile("[]"), entry, "not an object"},
		"table is an array": {jsonFile(`{"mcpServers": []}`), entry, "mcpServers is not an object"},
		"table is a value":  {tomlFile("mcp_servers = 1"), entry, "mcp_servers is not a table"},
		"another server":    {jsonFile(`{"mcpServers": {"collet": {"command": "npx"}}}`), entry, `"collet" is another server`},
		"twice":             {jsonFile(`{"mcpServers": {"mine": {"command": "collet", "args": ["serve"]}}}`), entry, `as "mine"`},
		"twice, by path":    {tomlFile("[mcp_servers.a]\ncommand = '/elsewhere/collet'\nargs = ['serve']\n"), other, `as "a"`},
		"twice, by URL":     {jsonFile(`{"mcpServers": {"mine": {"url": "http://h/mcp"}}}`), Entry{Name: "collet", URL: "http://h/mcp"}, `as "mine"`},
		"inline":            {tomlFile("mcp_servers = { collet = { command = \"collet\", args = [\"serve\"] } }\n"), entry, "written within another one"},
		"inline beside":     {tomlFile("mcp_servers = { a = { command = \"a\" } }\n"), entry, "mcp_servers is an inline table"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Connect(c.f, c.e)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.f.Path) {
				t.Errorf("got %v and %v, want %q", plan, err, c.want)
			}
		})
	}
	// Another configuration is another collet.
	f := jsonFile(`{"mcpServers": {"mine": {"command": "collet", "args": ["serve", "--config=/a/mcp.toml"]}}}`)
	if plan, err := Connect(f, entry); err != nil || plan.Action != Added {
		t.Errorf("another configuration: %v", err)
	}
}

func TestDisconnect(t *testing.T) {
	collet := `"collet": {"command": "collet", "args": ["serve"]}`
	for name, c := range map[string]struct{ before, after string }{
		"alone":            {"{\n  \"mcpServers\": {\n    " + collet + "\n  }\n}\n", "{\n  \"mcpServers\": {\n  }\n}\n"},
		"first":            {"{\n  \"mcpServers\": {\n    " + collet + ", // ours\n    \"x\": {\"command\": \"x\"}\n  }\n}\n", "{\n  \"mcpServers\": {\n    // ours\n    \"x\": {\"command\": \"x\"}\n  }\n}\n"},
		"last":             {"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}, // mine\n    " + collet + "\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"} // mine\n  }\n}\n"},
		"trailing comma":   {"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"},\n    " + collet + ",\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"},\n  }\n}\n"},
		"CRLF":             {"{\r\n  \"mcpServers\": {\r\n    \"x\": {\"command\": \"x\"},\r\n    " + collet + "\r\n  }\r\n}\r\n", "{\r\n  \"mcpServers\": {\r\n    \"x\": {\"command\": \"x\"}\r\n  }\r\n}\r\n"},
		"one line, last":   {`{"mcpServers":{"x":{"command":"x"}, ` + collet + `}}`, `{"mcpServers":{"x":{"command":"x"}}}`},
		"one line, first":  {`{"mcpServers":{` + collet + `, "x":{"command":"x"}}}`, `{"mcpServers":{"x":{"command":"x"}}}`},
		"twice":            {`{"mcpServers":{` + collet + `, ` + collet + `}}`, `{"mcpServers":{}}`},
		"comment in front": {`{"mcpServers":{"x":{"command":"x"}, /* a */ ` + collet + ` /* b */}}`, `{"mcpServers":{"x":{"command":"x"} /* a */ /* b */}}`},
		"not there":        {`{"mcpServers":{"x":{"command":"x"}}}`, `{"mcpServers":{"x":{"command":"x"}}}`},
		"empty":            {"", ""},
	} {
		t.Run(name, func(t *testing.T) { checkRemoved(t, jsonFile(c.before), c.after) })
	}
	table := "[mcp_servers.collet]\ncommand = \"collet\"\nargs = [\"serve\"]\n"
	for name, c := range map[string]struct{ before, after string }{
		"alone":         {table, ""},
		"last":          {"a = 1\n\n" + table, "a = 1\n"},
		"between":       {"a = 1\n\n" + table + "\n# of b\n[b]\n", "a = 1\n\n# of b\n[b]\n"},
		"with a table":  {table + "[mcp_servers.collet.env]\nA = \"1\"\n# of b\n[b]\n", "# of b\n[b]\n"},
		"as a pair":     {"[mcp_servers]\ncollet = { command = \"collet\", args = [\"serve\"] } # ours\na = { command = \"a\" }\n", "[mcp_servers]\n # ours\na = { command = \"a\" }\n"},
		"as pairs":      {"mcp_servers.collet.command = \"collet\"\nmcp_servers.collet.args = [\"serve\"]\nb = 2\n", "b = 2\n"},
		"in two places": {table + "[b]\n[mcp_servers.collet.env]\nA = \"1\"\n", "[b]\n"},
	} {
		t.Run("codex "+name, func(t *testing.T) { checkRemoved(t, tomlFile(c.before), c.after) })
	}
	for _, f := range []File{jsonFile(`{"mcpServers":{"collet":{"command":"npx"}}}`), tomlFile("[mcp_servers.collet]\ncommand = \"npx\"\n")} {
		if plan, err := Disconnect(f, "collet"); err == nil {
			t.Errorf("another server was taken out: %s", plan.After)
		}
	}
}

func checkRemoved(t *testing.T, f File, want string) {
	t.Helper()
	plan, err := Disconnect(f, "collet")
	if err != nil {
		t.Fatal(err)
	}
	if string(plan.After) != want {
		t.Errorf("got\n%q, want\n%q", plan.After, want)
	}
	if (plan.Action == Unchanged) != (want == string(f.Data)) {
		t.Errorf("action %s", plan.Action)
	}
}

func TestChoose(t *testing.T) {
	around := clientfile.Surroundings{Home: filepath.FromSlash("/h"), WorkDir: filepath.FromSlash("/h/p")}
	places := clientfile.Places(around, func(string) string { return "" })
	there := []string{}
	exists := func(dir string) bool { return slices.Contains(there, filepath.ToSlash(dir)) }
	p, ok := Choose(places, "vscode", false, exists)
	if !ok || filepath.Base(p.Path) != "mcp.json" || !strings.Contains(p.Path, "Code") {
		t.Errorf("without VS Code: %+v", p)
	}
	insiders := strings.Replace(filepath.ToSlash(filepath.Dir(p.Path)), "/Code/", "/Code - Insiders/", 1)
	there = []string{insiders}
	if p, ok = Choose(places, "vscode", false, exists); !ok || filepath.ToSlash(p.Path) != insiders+"/mcp.json" {
		t.Errorf("with Insiders alone: %+v", p)
	}
	if p, ok = Choose(places, "vscode", true, exists); !ok || filepath.ToSlash(p.Path) != "/h/p/.vscode/mcp.json" {
		t.Errorf("the project's: %+v", p)
	}
	if p, ok = Choose(places, "claude-desktop", true, exists); ok {
		t.Errorf("Claude Desktop has no projects: %+v", p)
	}
	packaged := clientfile.Place{Client: "x", Path: "/packaged/f.json", Preferred: true}
	plain := clientfile.Place{Client: "x", Path: "/plain/f.json"}
	there = []string{"/packaged", "/plain"}
	if p, _ = Choose([]clientfile.Place{plain, packaged}, "x", false, exists); p != packaged {
		t.Errorf("both are there: %+v", p)
	}
	there = nil
	if p, _ = Choose([]clientfile.Place{plain, packaged}, "x", false, exists); p != plain {
		t.Errorf("none is there: %+v", p)
	}
}

// seeds are files that people have, and some that nobody should have.
func seeds(f *testing.F) {
	for _, s := range []string{"", "{}", "{,}", "[]", "\xef\xbb\xbf{}", "// x", "{/*", `{"mcpServers":{"a":{"command":"a"},}, // c` + "\r\n}",
		`{"mcpServers":{"collet":{"command":"collet","args":["serve"],"url":"x"}}}`, `{"mcpServers":{"collet":[{}],"collet":{"command":"collet","args":["serve"]}}}`,
		"{\n\t\"mcpServers\" : null ,\n}", `{"a":"\"//","mcpServers":{"collet":null}}`, `{"mcpServers":{"collet":{"url":"x" , /* , */ } , } , }`,
		"[mcp_servers.collet]\ncommand='collet'\nargs=['serve']\n", "mcp_servers={}", "a=\"\"\"\n[mcp_servers.collet]\n\"\"\"\n", "[[mcp_servers]]\n", "[mcp_servers]\ncollet.command='collet'#x\r\ncollet.args=[\n'serve',\n]"} {
		f.Add([]byte(s))
	}
}

func FuzzJSON(f *testing.F) { fuzz(f, jsonFile) }

func FuzzTOML(f *testing.F) { fuzz(f, tomlFile) }

// fuzz connects and disconnects in any file. What comes out is read back as the
// package itself promises; here every byte is held against it, too: what was there
// is still there, in its order, and after it was taken out again nothing is left
// but blanks, commas and tables that had to be made.
func fuzz(f *testing.F, file func(string) File) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := file(string(data))
		plan, err := Connect(in, entry)
		if err != nil {
			return
		}
		made := plan.Action == Added && !bytes.Contains(data, []byte("null")) // which an object takes the place of
		if made && !subsequence(data, plan.After, "") {
			t.Fatalf("bytes are lost: %q became %q", data, plan.After)
		}
		in.Data = plan.After
		again, err := Connect(in, entry)
		if err != nil || again.Action != Unchanged {
			t.Fatalf("again: %+v, %v after %q", again, err, plan.After)
		}
		gone, err := Disconnect(in, entry.Name)
		if err != nil {
			return
		}
		if in.Client == "cursor" && json.Valid(data) && (!json.Valid(plan.After) || !json.Valid(gone.After)) { // half of the clients take nothing else
			t.Fatalf("%q was plain JSON and became %q and then %q", data, plan.After, gone.After)
		}
		if !subsequence(gone.After, plan.After, "") {
			t.Fatalf("bytes came from nowhere: %q became %q", plan.After, gone.After)
		}
		if made && !subsequence(data, gone.After, " \t\r\n,") {
			t.Fatalf("bytes are lost: %q became %q and then %q", data, plan.After, gone.After)
		}
	})
}

// subsequence says whether all bytes of part are in whole, in their order, but for
// those of loose.
func subsequence(part, whole []byte, loose string) bool {
	i := 0
	for _, c := range whole {
		for i < len(part) && part[i] != c && strings.IndexByte(loose, part[i]) >= 0 {
			i++
		}
		if i < len(part) && part[i] == c {
			i++
		}
	}
	for i < len(part) && strings.IndexByte(loose, part[i]) >= 0 {
		i++
	}
	return i == len(part)
}
