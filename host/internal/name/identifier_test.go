package name

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestIdentifiers(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, c := range []struct {
		name  string
		tools []string
		want  map[string]string
	}{
		{"as they are", []string{"create_repository", "createRepository", "_x", "$y", "X"}, map[string]string{
			"create_repository": "create_repository", "createRepository": "createRepository", "_x": "_x", "$y": "$y", "X": "X"}},
		{"other characters", []string{"a.b", "c-d", "e/f", "g h", "i\nj", "k\xffl", "", `"`}, map[string]string{
			"a.b": "a_b", "c-d": "c_d", "e/f": "e_f", "g h": "g_h", "i\nj": "i_j", "k\xffl": "k_l",
			"": "_" + mark("n/"), `"`: "_" + mark(`n/"`)}},
		{"leading digits", []string{"7zip", "٣", "0"}, map[string]string{"7zip": "_7zip", "٣": "_٣", "0": "_0"}},
		{"reserved words stand behind a dot", []string{"delete", "class", "await", "null"}, map[string]string{
			"delete": "delete", "class": "class", "await": "await", "null": "null"}},
		{"letters of other scripts", []string{"查询", "größe", "ü-ö"}, map[string]string{"查询": "查询", "größe": "größe", "ü-ö": "ü_ö"}},
		{"twins", []string{"read-file", "read_file", "read.file", "write"}, map[string]string{
			"read-file": "read_file" + mark("n/read-file"), "read_file": "read_file" + mark("n/read_file"),
			"read.file": "read_file" + mark("n/read.file"), "write": "write"}},
		{"composed and not", []string{"\u00e9", "e\u0301"}, map[string]string{
			"\u00e9": "\u00e9" + mark("n/\u00e9"), "e\u0301": "\u00e9" + mark("n/e\u0301")}},
		{"not composed, alone", []string{"e\u0301"}, map[string]string{"e\u0301": "\u00e9"}},
		{"a digit twin", []string{"7z", "_7z"}, map[string]string{"7z": "_7z" + mark("n/7z"), "_7z": "_7z" + mark("n/_7z")}},
		{"what JavaScript asks for", []string{"then", "toJSON", "--proto--"}, map[string]string{
			"then": "then" + mark("n/then"), "toJSON": "toJSON" + mark("n/toJSON"), "--proto--": "__proto__" + mark("n/--proto--")}},
		{"long", []string{long, long + "y", strings.Repeat("ä", 65)}, map[string]string{
			long: long, long + "y": long + mark("n/"+long+"y"), strings.Repeat("ä", 65): strings.Repeat("ä", 64) + mark("n/"+strings.Repeat("ä", 65))}},
		{"named after another's identifier", []string{"a-b", "a_b", "a_b" + mark("n/a-b")}, map[string]string{
			"a-b": "a_b" + mark("n/a-b#1"), "a_b": "a_b" + mark("n/a_b"), "a_b" + mark("n/a-b"): "a_b" + mark("n/a-b")}},
		{"twice", []string{"a", "a"}, map[string]string{"a": "a"}},
		{"none", nil, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Identifiers("n", c.tools); !maps.Equal(got, c.want) {
				t.Errorf("Identifiers(%q)\n got %q\nwant %q", c.tools, got, c.want)
			}
			checkIdentifiers(t, c.tools)
		})
	}
}

func TestServerIdentifiers(t *testing.T) {
	got := ServerIdentifiers([]string{"github", "my-server", "7zip", "then"})
	want := map[string]string{"github": "github", "my-server": "my_server", "7zip": "_7zip", "then": "then" + mark("then")}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzIdentifiers(f *testing.F) {
	f.Add("a-b\na_b\na.b\nc")
	f.Add("then\n--proto--\n7\n_7\ne\u0301\n\u00e9")
	f.Add("a-b\na_b\na_b" + mark("n/a-b") + "\na_b" + mark("n/a-b#1"))
	f.Add(strings.Repeat("ü", 300) + "\n" + strings.Repeat("ü", 301) + "\n\u2e2f\n\u200d\u0301")
	f.Fuzz(func(t *testing.T, lines string) { checkIdentifiers(t, strings.Split(lines, "\n")) })
}

// checkIdentifiers asserts what holds for every set of tools.
func checkIdentifiers(t *testing.T, tools []string) {
	t.Helper()
	given := Identifiers("n", tools)
	raw := map[string]bool{}
	plain := map[string]int{}
	for n := range given {
		raw[n] = true
		plain[identifier(n)]++
	}
	owner := map[string]string{}
	for _, n := range tools {
		id, ok := given[n]
		if !ok || !IsIdentifier(id) || Implicit(id) || len(id) > maxIdentifier+1+hashDigits {
			t.Fatalf("%q has the identifier %q, %v", n, id, ok)
		}
		if other, taken := owner[id]; taken && other != n {
			t.Fatalf("%q and %q are both %s", n, other, id)
		}
		owner[id] = n
		if id != n && raw[id] {
			t.Fatalf("%q is spelled %s, which is the name of another tool", n, id)
		}
		if plain[identifier(n)] > 1 && id == identifier(n) {
			t.Fatalf("%q collides and was given %s without a hash", n, id)
		}
	}
	back := slices.Clone(tools)
	slices.Reverse(back)
	if again := Identifiers("n", back); !maps.Equal(given, again) {
		t.Fatalf("in another order: %s", fmt.Sprint(again))
	}
}
