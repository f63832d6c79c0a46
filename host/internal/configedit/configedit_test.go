package configedit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

func source(client, path string, servers ...clientfile.Server) *clientfile.File {
	c, ok := clientfile.Named(client)
	if !ok {
		panic(client)
	}
	for i := range servers {
		servers[i].Enabled = true
	}
	return &clientfile.File{Path: path, Client: c, Servers: servers}
}

func plan(t *testing.T, before string, prefix string, sources ...*clientfile.File) *Plan {
	t.Helper()
	p, err := New("mcp.toml", []byte(before), sources, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func outcomes(p *Plan) (out []string) {
	for _, o := range p.Outcomes {
		out = append(out, fmt.Sprintf("%s %s", o.Action, o.Name))
	}
	return out
}

func TestText(t *testing.T) {
	s := clientfile.Server{
		Name: "git hub", Command: `C:\bin\x`, Args: []string{"-y", `a"b'c`, "é\t"}, Cwd: "~",
		Env:     []clientfile.Pair{{Key: "B", Value: "2"}, {Key: "A.x", Value: "${A}"}},
		Timeout: 2 * time.Minute, StartTimeout: 1500 * time.Millisecond,
		Only: []string{"read", "write"}, Hidden: []string{"write"},
	}
	p := plan(t, "# mine\n[host]\nexposure = \"direct\"", "", source("cursor", "/home/ann/.cursor/mcp.json", s, clientfile.Server{Name: "u", URL: "https://x/y"}))
	want := `
` + `
# from Cursor: /home/ann/.cursor/mcp.json
[servers.git-hub]
command = 'C:\bin\x'
args = ["-y", "a\"b'c", "é\t"]
cwd = "~"
timeout = "2m"
start_timeout = "1.5s"
[servers.git-hub.env]
B = "2"
"A.x" = "${A}"
[servers.git-hub.tool_exposure]
"write" = "hidden"
read = "direct"
"*" = "hidden"

# from Cursor: /home/ann/.cursor/mcp.json
[servers.u]
url = "https://x/y"
`
	want = strings.Replace(want, `"write" =`, "write =", 1)
	if string(p.Text) != want {
		t.Errorf("text is\n%s\nwant\n%s", p.Text, want)
	}
}

func TestNamesAndConflicts(t *testing.T) {
	run := func(args ...string) clientfile.Server {
		return clientfile.Server{Name: "db", Command: "run", Args: args}
	}
	a := source("claude-code", "/home/ann/.claude.json", run("1"),
		clientfile.Server{Name: "x.y", Command: "1"}, clientfile.Server{Name: "x/y", Command: "2"}, clientfile.Server{Name: "X_Y", Command: "3"})
	b := source("vscode", "/srv/shop/.vscode/mcp.json", run("2"), run("1"), clientfile.Server{Name: "bad", URL: "ftp://x"})
	b.Project = "/srv/shop"

	first := plan(t, "", "", a, b)
	want := []string{
		"added db", "added x-y", "added x-y-claude-code", "added X_Y-2",
		"added db-shop", "present db", "invalid bad",
	}
	if got := outcomes(first); !slices.Equal(got, want) {
		t.Errorf("outcomes are %q, want %q", got, want)
	}

	again := plan(t, string(first.Text), "", a, b)
	for _, o := range again.Outcomes {
		if o.Action != Present && o.Name != "bad" {
			t.Errorf("the second time %s is %s: %s", o.Name, o.Action, o.Reason)
		}
	}
	if len(again.Text) > 0 {
		t.Errorf("the second time there is %s", again.Text)
	}

	mine := "[servers.db]\ncommand = \"mine\"\n[servers.x-y]\ncomand = \"1\"\n"
	third := plan(t, mine, "", a)
	want = []string{"conflict db", "conflict x-y", "conflict x-y", "conflict x-y"}
	if got := outcomes(third); !slices.Equal(got, want) {
		t.Errorf("outcomes are %q, want %q", got, want)
	}
	if r := third.Outcomes[0].Reason; r != "is in the file with another command, args" {
		t.Errorf("reason is %q", r)
	}
	if r := third.Outcomes[1].Reason; r != "is in the file with a fault" {
		t.Errorf("reason is %q", r)
	}

	prefixed := plan(t, mine, "cc-", a)
	if got := outcomes(prefixed)[:2]; !slices.Equal(got, []string{"added cc-db", "added cc-x-y"}) {
		t.Errorf("outcomes are %q", got)
	}

	tuned := plan(t, "[servers.db]\ncommand = \"run\"\nargs = [\"1\"]\nenabled = false\nexposure = \"direct\"\n", "", source("cursor", "/c", run("1")))
	if got := outcomes(tuned); !slices.Equal(got, []string{"present db"}) {
		t.Errorf("a tuned server is %q", got)
	}
}

func TestValid(t *testing.T) {
	for text, want := range map[string]string{
		"github": "github", "git hub": "git-hub", "a__b": "a_b", "a___b": "a_b", "_a_": "a", "-": "server", "": "server",
		"数据库": "server", "größe": "gr-e", "a/b.c d": "a-b-c-d", "..x..": "x", "a-_-b": "a-_-b", "a_/b": "a_-b",
		"@modelcontextprotocol/server-github":                  "server-github",
		"@modelcontextprotocol/server-sequential-thinking-mcp": "server-sequential-thinking-mcp",
		strings.Repeat("long", 20):                             strings.Repeat("long", 8),
		strings.Repeat("a", 31) + "-" + "b":                    strings.Repeat("a", 31),
		"\x00\x1b[31m":                                         "31m",
	} {
		if got := valid(text, ""); got != want {
			t.Errorf("valid(%q) is %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "x", "__", strings.Repeat("ab_", 20), strings.Repeat("-", 40), "\xff/\xff"} {
		for _, suffix := range []string{"", "-2", "-claude-desktop", "-" + strings.Repeat("y_", 40), "- !"} {
			if got := valid(text, suffix); name.CheckServer(got) != nil {
				t.Errorf("valid(%q, %q) is %q: %v", text, suffix, got, name.CheckServer(got))
			}
		}
	}
}

// Every byte that was there stays, whatever it is, as long as it is TOML.
func TestAppends(t *testing.T) {
	s := source("cursor", "/c", clientfile.Server{Name: "new", Command: "x"})
	for _, before := range []string{
		"", "\n", "# c", "[host]", "[servers.a]\ncommand = \"x\"", "[servers]\na.command = \"x\"\n", "\xef\xbb\xbf[host]\n",
		"[servers.a]\r\ncommand = \"x\"\r\n# end\r\n", "[servers.a]\ncommand = \"x\"\n\n\n", "odd = 1\n[servers.a]\nfault = 1\n",
		"[servers.a]\ncommand = \"\"\"\nx\"\"\"\n", "servers = { a = { command = \"x\" } }\n", "servers.a.command = \"x\"\n",
	} {
		p := plan(t, before, "", s)
		all := slices.Concat(p.before, p.Text)
		if c := config.Parse("f", all); !bytes.HasPrefix(all, []byte(before)) || c.Server("new") == nil ||
			(c.Server("a") == nil) != (config.Parse("f", []byte(before)).Server("a") == nil) {
			t.Errorf("%q becomes %q", before, all)
		}
		if strings.Contains(before, "\r\n") && strings.Count(string(p.Text), "\n") != strings.Count(string(p.Text), "\r\n") {
			t.Errorf("line ends are mixed in %q", p.Text)
		}
	}
	for before, want := range map[string]string{
		"a = \n":                          "line 1",
		"[servers.a":                      "line 1",
		"\xff\xfe[\x00":                   "UTF-16",
		"[[servers]]\na=1\n":              "new would not be read back",
		"# " + strings.Repeat("x", 1<<20): "1 MiB",
	} {
		if _, err := New("mcp.toml", []byte(before), []*clientfile.File{s}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error is %v, want %q in it", before, err, want)
		}
	}
}

func TestWrite(t *testing.T) {
	s := source("cursor", "/c", clientfile.Server{Name: "new", Command: "x"})
	write := func(file string) error {
		before, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(file, before, []*clientfile.File{s}, "")
		if err != nil {
			t.Fatal(err)
		}
		return p.Write()
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "deep", "er", "mcp.toml")
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	perm := func(path string) os.FileMode {
		fi, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Mode()
	}
	if m := perm(file); m != 0o600 && os.PathSeparator == '/' {
		t.Errorf("a new file is %v", m)
	}
	first, _ := os.ReadFile(file)
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.ReadFile(file); !bytes.Equal(first, second) {
		t.Errorf("the second time it is %s", second)
	}

	if os.PathSeparator == '/' {
		real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
		if err := os.WriteFile(real, []byte("# mine\n"), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real", link); err != nil {
			t.Fatal(err)
		}
		if err := write(link); err != nil {
			t.Fatal(err)
		}
		if m := perm(link); m&os.ModeSymlink == 0 {
			t.Errorf("the link became %v", m)
		}
		if m := perm(real); m != 0o640 {
			t.Errorf("an old file became %v", m)
		}
		if data, _ := os.ReadFile(real); !strings.HasPrefix(string(data), "# mine\n\n# from") {
			t.Errorf("behind the link is %s", data)
		}
	}

	p, err := New(file, nil, []*clientfile.File{s}, "") // as if it had been read before it was written
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("a file that changed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", ".mcp.toml.*")); len(left) > 0 {
		t.Errorf("temporary files stay: %v", left)
	}
}

// Whatever a stranger's file holds, the plan is one that config reads, and a
// second one adds nothing.
func FuzzPlan(f *testing.F) {
	f.Add(`{"mcpServers": {"a/b": {"command": "x", "args": ["$A", "~"], "env": {"K": "!v", "L\"": "\u0001"}}, "a.b": {"url": "http://x/$"}}}`, "", "")
	f.Add(`{"mcpServers": {"a": {"command": "x"}}}`, "[servers.a]\ncommand = 'y'", "p ")
	f.Add(`{"context_servers": {"a": {"command": "x", "timeout": 1.5}}}`, "servers = {}", "")
	f.Fuzz(func(t *testing.T, text, before, prefix string) {
		file, err := clientfile.Read("/x/a.json", []byte(text), "", clientfile.Surroundings{Home: "/home/ann"})
		if err != nil {
			return
		}
		p, err := New("/c/mcp.toml", []byte(before), []*clientfile.File{file}, prefix)
		if err != nil {
			return
		}
		all := slices.Concat([]byte(before), p.Text)
		again, err := New("/c/mcp.toml", all, []*clientfile.File{file}, prefix)
		if err != nil {
			t.Fatalf("%q was added: %v", p.Text, err)
		}
		if len(again.Text) > 0 {
			t.Errorf("the first time\n%s\nthe second time\n%s", p.Text, again.Text)
		}
		for _, o := range p.Outcomes {
			if o.Action == Added && name.CheckServer(o.Name) != nil {
				t.Errorf("the name is %q", o.Name)
			}
		}
	})
}

func TestHiddenToolsStayHidden(t *testing.T) {
	p := plan(t, "", "", source("codex", "/c", clientfile.Server{Name: "a", Command: "x", Only: []string{"r"}, Hidden: []string{"w"}}))
	rules := config.Parse("f", p.Text).Server("a").Rules
	for tool, want := range map[string]exposure.Exposure{"r": exposure.Codemode, "w": exposure.Hidden, "z": exposure.Hidden} {
		if got := rules.Of(tool); got != want {
			t.Errorf("%s is %s, want %s", tool, got, want)
		}
	}
}
