package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// declared are the paths of a tree's declared keys, array indexes left out, in
// file order: what toml.MetaData.Keys returns for the same document.
func declared(root *node) []string {
	type entry struct {
		offset int
		path   string
	}
	var all []entry
	var walk func(n *node, path toml.Key)
	walk = func(n *node, path toml.Key) {
		if n.declared {
			all = append(all, entry{n.pos.offset, path.String()})
		}
		for k, c := range n.keys {
			walk(c, append(slices.Clip(path), k))
		}
		for _, c := range n.elems {
			walk(c, path)
		}
	}
	walk(root, nil)
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.offset, b.offset) })
	paths := make([]string, len(all))
	for i, e := range all {
		paths[i] = e.path
	}
	return paths
}

// sameShape reports where the tree of a document and its decoded value differ.
func sameShape(v any, n *node, path string) error {
	if n == nil {
		return fmt.Errorf("%s: not in the tree", path)
	}
	list := func(length int, at func(int) any) error {
		if length != len(n.elems) {
			return fmt.Errorf("%s: %d elements in the tree, want %d", path, len(n.elems), length)
		}
		for i := range length {
			if err := sameShape(at(i), n.elems[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) != len(n.keys) {
			return fmt.Errorf("%s: %d keys in the tree, want %d", path, len(n.keys), len(v))
		}
		for k, e := range v {
			if err := sameShape(e, n.keys[k], joinKey(path, k)); err != nil {
				return err
			}
		}
	case []any:
		return list(len(v), func(i int) any { return v[i] })
	case []map[string]any:
		return list(len(v), func(i int) any { return v[i] })
	default:
		if n.text == "" {
			return fmt.Errorf("%s: no text", path)
		}
	}
	return nil
}

// checkScan compares scan with the TOML library; ok is false for a document the
// library refuses.
func checkScan(t *testing.T, text string) (root *node, ok bool) {
	t.Helper()
	root, _, err := scan(text)
	if errors.Is(err, errTooDeep) {
		return nil, false
	}
	values, syntax := decode(text)
	if syntax != nil {
		return nil, false
	}
	if err != nil {
		t.Fatalf("scan stops in a valid document: %v\n%q", err, text)
	}
	if err := sameShape(values, root, ""); err != nil {
		t.Fatalf("%v\n%q", err, text)
	}
	var again map[string]any
	meta, err := toml.Decode(text, &again)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, k := range meta.Keys() {
		want = append(want, k.String())
	}
	if got := declared(root); !slices.Equal(got, want) {
		t.Fatalf("declared keys %q, the library has %q\n%q", got, want, text)
	}
	return root, true
}

// documents are valid; every seam of the grammar the scanner must not trip over.
var documents = []string{
	"",
	"# only a comment",
	"a = 1",
	"a = 1 # [b]\nb = \"# no comment\" # but this\n[c]\n",
	"a.b.c = 1\na.b.d = 2\n[x]\ny.z = 3",
	"[a.b.c]\nd = 1\n[a]\ne = 2\n[a.b]\nf = 3",
	"[ a . \"b.c\" . 'd' ]\n\"e f\" . g = 1",
	`"q\"u" = 1` + "\n" + `"\u00e9\t\x41\U0001F600\e" = 2` + "\n" + `'raw\n' = 3` + "\n" + `"" = 4`,
	"[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 3\n[[a.e]]\n[[a.e]]\nf = 1",
	"a = [1, 2,\n  3, # three ] }\n]\nb = [[1], [], [2, [3]]]",
	"a = { b = 1, c.d = { e = [ {f = 1}, {f = 2, g = 3} ] } }\nh = {}",
	"a = {\n  b = 1, # one\n  c = 2,\n}\nd = 1",
	"a = \"\"\"\n[not]\na = table \\\"\"\"\n\"\"\"\"\"\nb = 1",
	"a = '''\n[not]\n'a' = '' \\'''\nb = '''''a'''''\nc = ''\nd = \"\"",
	"a = \"\"\"line \\\n   goes on\"\"\"\nb = 1",
	"a = 1979-05-27 07:32:00Z # day\nb = [1979-05-27, 07:32:00]\nc = -inf\nd = 0xFF\ne = 1_000.5e3",
	"a = 1\r\n[b]\r\nc = \"\"\"x\r\ny\"\"\"\r\nd = [\r\n1,\r\n2]\r\n",
	"3.14 = 1\n-1 = 2\ntrue = 3\n1979-05-27 = 4",
	"a=true\n\tb\t=\t[ true ,false ]\t\n",
}

func TestScanAgreesWithLibrary(t *testing.T) {
	for _, text := range documents {
		if _, ok := checkScan(t, text); !ok {
			t.Errorf("not a valid document: %q", text)
		}
	}
}

func TestScanPositions(t *testing.T) {
	text := "# é\n[a.b]\r\n  c = [ 1,\n  { d = 2 } ]\n\"e f\".g = '''\n\n'''\nh = 1\n[a]\ni = { j = 1, k.l = 2 }\n[[m]]\n[[m]]\nn = 1"
	root, ok := checkScan(t, text)
	if !ok {
		t.Fatal("not a valid document")
	}
	b := root.key("a").key("b")
	m := root.key("m")
	for _, c := range []struct {
		name         string
		n            *node
		line, column int
	}{
		{"a", root.key("a"), 9, 2}, // its own header counts, not the longer one before
		{"a.b", b, 2, 4},
		{"a.b.c", b.key("c"), 3, 3},
		{"a.b.c[0]", b.key("c").elem(0), 3, 9},
		{"a.b.c[1].d", b.key("c").elem(1).key("d"), 4, 5},
		{"a.b.e f", b.key("e f"), 5, 1},
		{"a.b.e f.g", b.key("e f").key("g"), 5, 7},
		{"a.b.h", b.key("h"), 8, 1},
		{"a.i.k.l", root.key("a").key("i").key("k").key("l"), 10, 16},
		{"m[1]", m.elem(1), 12, 3},
		{"m[1].n", m.elem(1).key("n"), 13, 1},
		{"missing", root.key("x").key("y").elem(3), 0, 0},
	} {
		if at := c.n.at(); at.line != c.line || at.column != c.column {
			t.Errorf("%s is at %d:%d, want %d:%d", c.name, at.line, at.column, c.line, c.column)
		}
	}
}

func TestScanBounds(t *testing.T) {
	deep := func(n int) []string {
		return []string{
			"a = " + strings.Repeat("[", n) + strings.Repeat("]", n),
			"a = " + strings.Repeat("{a=", n) + "1" + strings.Repeat("}", n),
			"a" + strings.Repeat(".a", n) + " = 1",
			"[a" + strings.Repeat(".a", n) + "]",
		}
	}
	for _, text := range deep(maxDepth - 1) {
		if _, ok := checkScan(t, text); !ok {
			t.Errorf("refused at the bound: %.40q", text)
		}
	}
	long := "[" + strings.Repeat("k", maxPath) + "]"
	for _, text := range append(append(deep(maxDepth+1), deep(200_000)...), long) {
		if _, _, err := scan(text); !errors.Is(err, errTooDeep) {
			t.Errorf("%.40q: %v, want errTooDeep", text, err)
		}
	}
}

func TestScanMalformed(t *testing.T) {
	for _, text := range []string{
		"[", "[a", "[[a]", "[]", "a", "a =", "a = ]", "=1", "a. = 1", "a = [1", "a = {b", "a = {b=1",
		"a = \"", "a = \"x\n\"", "a = '''x", "\"a\n\" = 1", `"\q" = 1`, `"\u12" = 1`, `"\ud800" = 1`, "a = \"\\",
	} {
		if _, _, err := scan(text); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %v, want errMalformed", text, err)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := plainText(Source{Data: []byte(text)}); err != nil {
			return
		}
		checkScan(t, strings.TrimPrefix(text, "\ufeff"))
	})
}
