package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxGuesses = 5 // known words that an unknown one is taken for
	minPrefix  = 3 // characters of a word that begins others, and of each half of a compound
	minSlip    = 4 // characters of a word that may have a slip
)

// loosen returns what a word that no tool has may mean: known words that it
// begins; else two known words that it is written of; else known words that are
// one slip away. Each list is a concept of its own.
func (v *view) loosen(unknown string) [][]other {
	size := utf8.RuneCountInString(unknown)
	if size >= minPrefix {
		if found := v.guess(unknown, func(string) bool { return true }); found != nil {
			return [][]other{found}
		}
	}
	if size >= 2*minPrefix {
		if left, right := v.compound(unknown); left != "" {
			return [][]other{{{left, looseWeight}}, {{right, looseWeight}}}
		}
	}
	if size >= minSlip {
		// The first letter is rarely the wrong one, and a vocabulary is long.
		initial, _ := utf8.DecodeRuneInString(unknown)
		if found := v.guess(string(initial), func(known string) bool { return oneSlip(unknown, known) }); found != nil {
			return [][]other{found}
		}
	}
	return nil
}

// guess returns the words with a prefix that are right, those of most tools first.
func (v *view) guess(prefix string, right func(known string) bool) []other {
	tools := map[string]int{}
	for _, sh := range v.shards {
		for i := sh.words.from(prefix); i < sh.words.len(); i++ {
			w := sh.words.at(i)
			if !strings.HasPrefix(w, prefix) {
				break
			}
			if right(w) {
				_, n := sh.list(i)
				tools[w] += n
			}
		}
		for i := sh.about.from(prefix); i < sh.about.len(); i++ {
			w := sh.about.at(i)
			if !strings.HasPrefix(w, prefix) {
				break
			}
			if right(w) {
				tools[w] += len(sh.tools)
			}
		}
	}
	words := slices.SortedFunc(maps.Keys(tools), func(a, b string) int {
		return cmp.Or(cmp.Compare(tools[b], tools[a]), strings.Compare(a, b))
	})
	var found []other
	for _, w := range words[:min(len(words), maxGuesses)] {
		found = append(found, other{w, looseWeight})
	}
	return found
}

// compound returns the stems of the two known words that s is written of, those
// of which the rarer is the most common; empty when there are none.
func (v *view) compound(s string) (left, right string) {
	most := 0
	for i := range s {
		if i < minPrefix || len(s)-i < minPrefix {
			continue
		}
		l, r := stem(s[:i]), stem(s[i:])
		_, n := v.lookup(l)
		if n <= most {
			continue
		}
		_, m := v.lookup(r)
		if n = min(n, m); n > most {
			most, left, right = n, l, r
		}
	}
	return left, right
}

// oneSlip reports whether b is a with one character more, less or other, or two
// neighbours swapped.
func oneSlip(a, b string) bool {
	if d := len(a) - len(b); d > utf8.UTFMax || d < -utf8.UTFMax || a == b {
		return false
	}
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra == rb {
			a, b = a[na:], b[nb:]
			continue
		}
		if a[na:] == b[nb:] || a[na:] == b || a == b[nb:] {
			return true
		}
		sa, ma := utf8.DecodeRuneInString(a[na:])
		sb, mb := utf8.DecodeRuneInString(b[nb:])
		return ra == sb && rb == sa && a[na+ma:] == b[nb+mb:]
	}
	return utf8.RuneCountInString(a)+utf8.RuneCountInString(b) == 1
}
