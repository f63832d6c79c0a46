package name

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// maxNear bounds the length in bytes of what is compared, since the work grows
// with the product of two lengths and both come from strangers.
const maxNear = 256

// Near returns the names of have that want was probably meant to be: at most max,
// nearest first, ties in alphabetical order, each once. A name is near when it
// differs in at most a third of want's characters (case and "-" against "_" do
// not count, and two neighbours that changed places count once), or when one holds the other. It returns nil when none is.
func Near(want string, have []string, max int) []string {
	if max <= 0 || want == "" || len(want) > maxNear {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	folded := Fold(want)
	size := utf8.RuneCountInString(folded)
	limit := size / 3
	if limit == 0 && size > 1 {
		limit = 1
	}
	var near []candidate
	for _, n := range have {
		if n == "" || len(n) > maxNear {
			continue
		}
		f := Fold(n)
		gap := utf8.RuneCountInString(f) - size
		if gap < 0 {
			gap = -gap
		}
		if gap <= limit {
			d := levenshtein.ComputeDistance(folded, f)
			if d == 2 && swapped(folded, f) {
				d = 1
			}
			if d <= limit {
				near = append(near, candidate{n, d})
				continue
			}
		}
		// "create_issue" for "github/create_issue": far by letters, near in mind.
		if size >= 3 && strings.Contains(f, folded) || len(f) >= 3 && strings.Contains(folded, f) {
			near = append(near, candidate{n, limit + gap})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	near = slices.Compact(near)
	var names []string
	for _, c := range near[:min(max, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// swapped says whether a and b differ in two neighbours that changed places,
// the commonest slip of all.
func swapped(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) != len(y) {
		return false
	}
	for i := range len(x) - 1 {
		if x[i] != y[i] {
			return x[i] == y[i+1] && x[i+1] == y[i] && slices.Equal(x[i+2:], y[i+2:])
		}
	}
	return false
}
