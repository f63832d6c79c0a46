package search

import "sort"

// lexicon is a sorted list of words in one string: a tenth of the memory of a
// list of strings, nothing for the garbage collector to follow, and all words
// with a common beginning lie side by side.
type lexicon struct {
	text string
	ends []uint32 // where each word ends in text
}

// newLexicon takes the words in order, each once.
func newLexicon(words []string) lexicon {
	size := 0
	for _, w := range words {
		size += len(w)
	}
	text := make([]byte, 0, size)
	ends := make([]uint32, len(words))
	for i, w := range words {
		text = append(text, w...)
		ends[i] = uint32(len(text))
	}
	return lexicon{string(text), ends}
}

func (l lexicon) len() int { return len(l.ends) }

func (l lexicon) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.text[start:l.ends[i]]
}

// from returns the index of the first word that is not before w.
func (l lexicon) from(w string) int {
	return sort.Search(len(l.ends), func(i int) bool { return l.at(i) >= w })
}

// find returns the index of w.
func (l lexicon) find(w string) (int, bool) {
	i := l.from(w)
	return i, i < len(l.ends) && l.at(i) == w
}
