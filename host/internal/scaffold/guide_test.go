package scaffold_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/scaffold"
)

const adapterDocs = "../../../docs/adapters"

// block is one fenced block of a page.
type block struct {
	line int
	lang string
	file string // of a comment <!-- file --> in front of it
	text string
}

var fileMark = regexp.MustCompile(`^<!-- (\S+) -->$`)

// blocks are the fenced blocks of a page, in its order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	var open *block
	mark := ""
	for i, line := range strings.Split(string(data), "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{line: i + 1, lang: lang, file: mark}
		case fence:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line + "\n"
			continue
		}
		mark = ""
		if m := fileMark.FindStringSubmatch(line); m != nil {
			mark = m[1]
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: a block without an end", page, open.line)
	}
	return all
}

// Whoever follows the tutorial, with collet and an empty directory, gets what it says.
func TestTutorial(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	n.env = append(n.env, "VERIFY=--patience 4") // other tests run beside this one
	ran := 0
	for _, b := range blocks(t, filepath.Join(adapterDocs, "tutorial.md")) {
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(n.dir, b.file), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.lang != "":
			t.Fatalf("tutorial.md:%d: nobody is told which file this is", b.line)
		default:
			ran += n.follow(t, "tutorial.md", b)
		}
	}
	if ran < 10 {
		t.Errorf("the tutorial has %d commands: the test has lost them", ran)
	}
}

// So do the commands of the other pages.
func TestCommands(t *testing.T) {
	t.Parallel()
	for page, project := range map[string]string{"wrapping-mcp.md": "", "publishing.md": "dice"} {
		n := newNewcomer(t)
		if project != "" {
			n.do(t, "collet plugins new "+project)
			n.dir = filepath.Join(n.dir, "collet-plugin-"+project)
		}
		ran := 0
		for _, b := range blocks(t, filepath.Join(adapterDocs, page)) {
			if b.lang == "" && strings.HasPrefix(b.text, "$ ") {
				ran += n.follow(t, page, b)
			}
		}
		if ran < 2 {
			t.Errorf("%s has %d commands: the test has lost them", page, ran)
		}
	}
}

// follow runs the commands of a block, lines that begin with "$ ", and holds what
// they say against the lines below: each of those is in it, in that order, and "..."
// stands for anything.
func (n *newcomer) follow(t *testing.T, page string, b block) int {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	ran := 0
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			t.Fatalf("%s:%d: %q is no command", page, b.line, lines[i])
		}
		var want []string
		for i++; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			parts := strings.Split(lines[i], "...")
			for k := range parts {
				parts[k] = regexp.QuoteMeta(parts[k])
			}
			want = append(want, strings.Join(parts, ".*"))
		}
		ran++
		if dir, ok := strings.CutPrefix(command, "cd "); ok {
			n.dir = filepath.Join(n.dir, dir)
			continue
		}
		out := n.do(t, command)
		if !regexp.MustCompile(`(?s)` + strings.Join(want, `.*\n`)).MatchString(out) {
			t.Fatalf("%s:%d: $ %s\nsays\n%s\nand not\n%s", page, b.line, command, out, strings.Join(want, "\n"))
		}
	}
	return ran
}

// Every piece of Go in the pages for authors is one of a program that tests compile:
// an example of the SDK, or what plugins new writes. Whole programs are compiled here.
func TestSnippets(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	sources := map[string][]string{}
	add := func(name string, data []byte) {
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" {
				sources[name] = append(sources[name], line)
			}
		}
	}
	err := filepath.WalkDir("../../../sdk/examples", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && err == nil {
			data, err := os.ReadFile(path)
			add(path, data)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []scaffold.Plan{
		{Name: "a", Kind: scaffold.URL, URL: "https://a.example"},
		{Name: "b", Kind: scaffold.Command, Command: []string{"b"}},
	} {
		files, err := p.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Path, ".go") {
				add(string(p.Kind)+"/"+f.Path, f.Data)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(adapterDocs, "*.md"))
	if err != nil || len(pages) < 6 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	found := 0
	for _, page := range append(pages, "../../../docs/hooks.md") {
		for _, b := range blocks(t, page) {
			if b.lang != "go" || b.file != "" { // TestTutorial builds those
				continue
			}
			found++
			if strings.Contains(b.text, "\npackage main\n") || strings.HasPrefix(b.text, "package main\n") {
				n.compile(t, page, b)
			} else if !compiled(b.text, sources) {
				t.Errorf("%s:%d: no program that is compiled has these lines, in this order:\n%s", page, b.line, b.text)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d pieces of Go: the test has lost them", found)
	}
}

// compile builds a whole program of a page.
func (n *newcomer) compile(t *testing.T, page string, b block) {
	t.Helper()
	n.do(t, "rm -rf collet-plugin-page && collet plugins new page")
	dir := filepath.Join(n.dir, "collet-plugin-page")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := n.try(t, "cd collet-plugin-page && rm *_test.go && go vet ."); err != nil {
		t.Errorf("%s:%d: %s", page, b.line, out)
	}
}

// compiled says whether a source has the lines of a snippet in their order. It may
// have more between them.
func compiled(snippet string, sources map[string][]string) bool {
	for _, source := range sources {
		at := 0
		for line := range strings.Lines(snippet) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			for at < len(source) && source[at] != line {
				at++
			}
			if at++; at > len(source) {
				break
			}
		}
		if at <= len(source) {
			return true
		}
	}
	return false
}
