package search

import "github.com/kljensen/snowball/english"

// stem returns what words are compared by: the Porter2 stem of an English word,
// anything else as it is. The word is in lower case.
func stem(w string) string {
	if len(w) < 3 {
		return w
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	return english.Stem(w, true)
}
