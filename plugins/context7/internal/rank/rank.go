// Package rank decides which of the libraries a search found is the one that
// was meant, and which of its versions. It is pure.
package rank

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
)

// Order returns the libraries with the most likely one first: those that can be
// read, then those of that very name, those that have the version (empty is
// any), the more trusted, the better documented. The source's own order decides
// between equals.
func Order(found []library.Library, name, version string) []library.Library {
	list := slices.Clone(found)
	slices.SortStableFunc(list, func(a, b library.Library) int {
		return cmp.Or(
			yes(readable(b), readable(a)),
			cmp.Compare(likeness(b, name), likeness(a, name)),
			yes(version != "" && Version(b.Versions, version) != "", version != "" && Version(a.Versions, version) != ""),
			cmp.Compare(reputation(b), reputation(a)),
			cmp.Compare(b.Benchmark, a.Benchmark),
			cmp.Compare(b.Snippets, a.Snippets),
		)
	})
	return list
}

func yes(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// readable holds for a library without a state, too: prose does not tell it.
func readable(l library.Library) bool { return l.State == "" || l.State == library.Finalized }

// likeness is 3 for a library of that name or id, 2 for one whose repository
// has the name, 1 for one with the name in its title, else 0.
func likeness(l library.Library, name string) int {
	want := fold(name)
	switch {
	case want == "":
		return 0
	case strings.EqualFold(l.ID, name), fold(l.Title) == want:
		return 3
	case fold(l.ID[strings.LastIndexByte(l.ID, '/')+1:]) == want:
		return 2
	case strings.Contains(fold(l.Title), want):
		return 1
	default:
		return 0
	}
}

// fold makes Next.js, nextjs and NEXT-JS one name.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		// + and # tell C, C++ and C# apart.
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '+' || r == '#' {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// reputation is the step that Context7 itself shows of a trust score: a tenth
// more or less means nothing.
func reputation(l library.Library) int {
	switch {
	case l.Trust >= 7:
		return 2
	case l.Trust >= 4:
		return 1
	default:
		return 0
	}
}
