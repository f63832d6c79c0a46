package name

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Cases B124 to B127 over random names: names that differ in one character of
// those that get lost (dots, slashes, the separator, what lies past the cut), and
// servers that look like the beginning of a tool.

var (
	serverParts = []string{"a", "b", "A", "7", "db", "my", "n", "-", "_", "-_"}
	toolParts   = []string{"a", "b", "A", "_", "__", "-", ".", "/", ":", " ", "é", "\xff", "get", "read_file", "tool_call", "_0123abcd", "_0123ABCD", "20240131", strings.Repeat("y", 30)}
)

// build joins up to n random parts.
func build(r *rand.Rand, parts []string, n int) string {
	var b strings.Builder
	for range 1 + r.IntN(n) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

// randomNames returns canonical names of distinct tools on servers that may be
// configured, some of them variants of each other.
func randomNames(r *rand.Rand) []string {
	var names []string
	add := func(server, tool string) {
		if CheckServer(server) == nil && tool != "" {
			names = append(names, Join(server, tool))
		}
	}
	for range 40 {
		server, tool := build(r, serverParts, 4), build(r, toolParts, 6)
		add(server, tool)
		at := r.IntN(len(tool))
		add(server, tool[:at]+toolParts[r.IntN(len(toolParts))]+tool[at:])
		add(server, tool+"1")
		add(server, tool+"2")
		add(server+"_"+server, tool)
		add(server, "_"+tool)
		add(server, Wire(server, tool)) // it calls itself what another is called
		if _, own, ok := strings.Cut(Wire(server, tool), "__"); ok {
			add(server, own)
		}
		add(server, strings.ToUpper(tool))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestNamesOfRandomTools(t *testing.T) {
	r := rand.New(rand.NewPCG(124, 127)) // the same names in every run
	for range 200 {
		checkNames(t, r, randomNames(r))
	}
}

// The names of case B125, with their neighbours, are told apart on every server.
func TestNamesOfLookalikes(t *testing.T) {
	r := rand.New(rand.NewPCG(125, 0))
	var names []string
	for _, server := range []string{"a", "a-b", "db", "my_db", strings.Repeat("s", MaxServer)} {
		for _, tool := range []string{
			"a.b", "a_b", "a-b", "a/b", "a b", "a:b", "a__b", "A_B", "A.B", "_b", "b", "b_", "x/y", "x__y", "a_b_0123abcd",
			"admin.tools.list", "user/update", "ns:act", strings.Repeat("z", 64), strings.Repeat("z", 65), strings.Repeat("z", 64) + "a", strings.Repeat("z", 64) + "b",
		} {
			names = append(names, Join(server, tool))
		}
	}
	checkNames(t, r, names)
}

// checkNames asserts what holds for every set of tools.
func checkNames(t *testing.T, r *rand.Rand, names []string) {
	t.Helper()
	table := NewTable(names)
	if c := table.Collisions(); len(c) > 0 {
		t.Fatalf("collisions: %v", c)
	}
	owner, folded := map[string]string{}, map[string]string{}
	for _, n := range names {
		server, tool, _ := Split(n)
		w, ok := table.Wire(n)
		if !ok || !wirePattern.MatchString(w) || Reserved(w) {
			t.Fatalf("%q has the wire name %q", n, w)
		}
		if other, taken := owner[w]; taken {
			t.Fatalf("%q and %q are both %q", n, other, w)
		}
		owner[w] = n
		for _, spelled := range []string{n, w} { // table lookup gives back the original
			if got, ok := table.Resolve(spelled); !ok || got != n {
				t.Fatalf("Resolve(%q) = %q, want %q", spelled, got, n)
			}
		}
		altered := w != server+"__"+tool
		if altered != markPattern.MatchString(w) {
			t.Fatalf("%q is %q: only an altered name ends in a mark", n, w)
		}
		// Where a client ignores case, only tools that differ in nothing but case
		// and need no alteration meet.
		if other, taken := folded[strings.ToLower(w)]; taken && (altered || !strings.EqualFold(n, other)) {
			t.Fatalf("%q and %q are the same but for case: %q", n, other, w)
		}
		folded[strings.ToLower(w)] = n
	}

	// No name depends on which others exist, or on their order.
	some := slices.Clone(names)
	r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	some = some[:1+len(some)/2]
	again := NewTable(some)
	for _, n := range some {
		before, _ := table.Wire(n)
		if after, _ := again.Wire(n); after != before {
			t.Fatalf("%q is %q among others and %q among these", n, before, after)
		}
	}
}

// Twins that differ only in case keep their names, since MCP tells them apart.
func TestTwinsButForCase(t *testing.T) {
	if a, b := Wire("n", "Read"), Wire("n", "read"); a != "n__Read" || b != "n__read" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := Wire("n", "a.b"), Wire("n", "A.b"); strings.EqualFold(a, b) {
		t.Errorf("altered twins %q and %q differ only in case", a, b)
	}
}
