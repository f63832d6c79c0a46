package search

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// What one word of a query counts for in another spelling.
const (
	partWeight   = 0.5 // "git" for "GitHub", when "github" is a known word
	joinedWeight = 0.7 // "webpage" for "web page"
	looseWeight  = 0.6 // a known word that an unknown one begins, or nearly is
	charWeight   = 0.3 // one character of Chinese, beside the pairs
)

// asked is one word of a query.
type asked struct {
	stem   string
	parts  []string // of a word written as several: they are asked for if the index does not know it
	others []other  // what stands for it besides its stem and its synonyms
	kind   kind
	weight float64
}

// other is a word that may stand for one asked for.
type other struct {
	stem   string
	weight float64
}

// parse returns the words of a query, each once, without stop words unless there
// is nothing else. It knows no index.
func parse(query string) []asked {
	query = norm.NFKC.String(query)
	if words := parseWords(query, stopWords()); len(words) > 0 {
		return words
	}
	return parseWords(query, nil)
}

func parseWords(query string, stop map[string]bool) []asked {
	p := parser{stop: stop, seen: map[string]int{}, last: -1, whole: -1}
	tokenize(query, p.token)
	for _, run := range strings.FieldsFunc(query, func(r rune) bool { return !isUnspaced(r) }) {
		translate(run, func(english string) {
			p.add(asked{stem: stem(english), kind: word, weight: translationWeight})
		})
	}
	return p.words
}

type parser struct {
	stop  map[string]bool
	words []asked
	seen  map[string]int // stem -> index in words

	before string // the word before, as written
	last   int    // its index in words; -1 for a stop word
	whole  int    // index of the whole whose parts are being read; -1 for one that is not asked for
}

func (p *parser) token(token string, k kind) {
	switch k {
	case part:
		if p.whole >= 0 && !p.stop[token] {
			w := &p.words[p.whole]
			w.parts = appendNew(w.parts, stem(token))
		}
		return
	case char, pair:
		p.before, p.last = "", -1
		if p.stop[token] || k == char && strings.TrimFunc(token, isKana) == "" {
			return // a letter is a sound, and not like a character of Chinese a word
		}
		weight := 1.0
		if k == char {
			weight = charWeight
		}
		p.add(asked{stem: token, kind: k, weight: weight})
		return
	}
	at := -1
	if !p.stop[token] {
		at = p.add(asked{stem: stem(token), kind: k, weight: 1})
	}
	p.whole = -1
	if k == whole {
		p.whole = at
	}
	// "web page" may be written "webpage"; one of the two has to mean something.
	if p.before != "" && len(p.before)+len(token) <= maxWord {
		joined := other{stem(p.before + token), joinedWeight}
		for _, i := range [2]int{p.last, at} {
			if i >= 0 {
				p.words[i].others = append(p.words[i].others, joined)
			}
		}
	}
	p.before, p.last = token, at
}

// add returns the index of the word, or -1 when there are too many.
func (p *parser) add(a asked) int {
	if at, ok := p.seen[a.stem]; ok {
		return at
	}
	if len(p.words) == maxQueryWords {
		return -1
	}
	p.seen[a.stem] = len(p.words)
	p.words = append(p.words, a)
	return len(p.words) - 1
}

// isKana reports whether r is of hiragana or katakana.
func isKana(r rune) bool { return 'ぁ' <= r && r <= 'ヿ' }
