package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// kind says what a token is of the text it comes from.
type kind uint8

const (
	word  kind = iota // a word by itself
	whole             // the joined spelling of a word that comes apart; its parts follow
	part              // a part of the whole before it
	char              // one character of a script that puts no spaces between words
	pair              // two neighbours of such characters
)

// counted reports whether a token adds to the length of its field. Each stretch
// of text counts once: in its parts, not as a whole; in its characters, not in
// their pairs.
func (k kind) counted() bool { return k != whole && k != pair }

// tokenize calls emit for every token of text, in order, in lower case. Text is
// brought to NFKC first, so that composed and decomposed, full-width and
// half-width spellings are one.
func tokenize(text string, emit func(token string, k kind)) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case isUnspaced(r):
			end := span(text, i, isUnspaced)
			characters(text[i:end], emit)
			i = end
		case isWord(r):
			end, hyphens := hyphenated(text, i)
			if hyphens == 0 {
				split(text[i:end], emit)
			} else {
				rejoin(text[i:end], hyphens, emit)
			}
			i = contraction(text, end)
		default:
			i += size
		}
	}
}

// span returns the end of the run of characters at i that are in.
func span(text string, i int, in func(rune) bool) int {
	for j, r := range text[i:] {
		if !in(r) {
			return i + j
		}
	}
	return len(text)
}

// hyphenated returns the end of the word at i, behind those that are tied to it by
// single hyphens, and how many hyphens there are. Words that come apart by
// themselves are not taken together.
func hyphenated(text string, i int) (end, hyphens int) {
	end = span(text, i, isWord)
	if hump(text[i:end]) < end-i {
		return end, 0
	}
	for end < len(text) && text[end] == '-' {
		next := span(text, end+1, isWord)
		if next == end+1 || hump(text[end+1:next]) < next-end-1 {
			break
		}
		end, hyphens = next, hyphens+1
	}
	return end, hyphens
}

// rejoin emits words tied by hyphens: "to-do" is also "todo", "e-mail" "email".
func rejoin(tied string, hyphens int, emit func(string, kind)) {
	k := word
	if len(tied)-hyphens <= maxWord {
		emit(strings.ToLower(strings.ReplaceAll(tied, "-", "")), whole)
		k = part
	}
	for piece := range strings.SplitSeq(tied, "-") {
		emitPart(piece, k, emit)
	}
}

// emitPart emits a part of a word unless it is a single letter ("iPhone",
// "e-mail"), which stands for anything. It is a word by itself when what it is part
// of is too long to be one.
func emitPart(piece string, k kind, emit func(string, kind)) {
	if len(piece) <= maxWord && utf8.RuneCountInString(piece) > 1 {
		emit(strings.ToLower(piece), k)
	}
}

// isWord reports whether r is part of a word of a script with spaces.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) && !isUnspaced(r)
}

// isUnspaced reports whether r is of a script whose words are not set apart.
// Hangul has spaces, but particles are glued to its words.
func isUnspaced(r rune) bool {
	if r < 0x0e00 { // Thai is the first
		return false
	}
	// The long vowel mark of kana belongs to no one script.
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// contraction returns where to go on after a word that ends at i: behind "'s",
// "'t", "'ll" and the like, which say nothing by themselves.
func contraction(text string, i int) int {
	rest, ok := strings.CutPrefix(text[i:], "'")
	if !ok {
		if rest, ok = strings.CutPrefix(text[i:], "’"); !ok {
			return i
		}
	}
	end := span(rest, 0, isWord)
	switch strings.ToLower(rest[:end]) {
	case "s", "t", "d", "m", "ll", "re", "ve":
		return len(text) - len(rest) + end
	}
	return i
}

// characters emits a run of an unspaced script: each character, and each pair.
func characters(run string, emit func(string, kind)) {
	previous := -1
	for i, r := range run {
		end := i + utf8.RuneLen(r)
		emit(run[i:end], char)
		if previous >= 0 {
			emit(run[previous:end], pair)
		}
		previous = i
	}
}

// split emits a run of letters and digits: as one word, or, when it is written
// as several, as a whole and its parts. The whole is what makes "GitHub" and
// "github" one word.
func split(run string, emit func(string, kind)) {
	end := hump(run)
	if end == len(run) {
		if len(run) <= maxWord {
			emit(strings.ToLower(run), word)
		}
		return
	}
	k := word
	if len(run) <= maxWord {
		emit(strings.ToLower(run), whole)
		k = part
	}
	for ; run != ""; end = hump(run) {
		emitPart(run[:end], k, emit)
		run = run[end:]
	}
}

// hump returns the end of the first part of a run: before a capital that follows
// a small letter ("create|Issue"), before the last capital of several when a
// small letter follows ("HTTP|Server", but "URLs"), and where letters meet digits
// when there are at least three letters ("base|64", but "s3", "2fa").
func hump(run string) int {
	if strings.IndexFunc(run, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
		return len(run) // most words
	}
	letters, digits := 0, 0 // of the part so far, those at its end
	var before rune
	for i, r := range run {
		size := utf8.RuneLen(r)
		switch {
		case unicode.IsMark(r):
			continue
		case unicode.IsDigit(r):
			if letters >= 3 {
				return i
			}
			digits, letters = digits+1, 0
		case unicode.IsUpper(r):
			next, _ := utf8.DecodeRuneInString(run[i+size:])
			plural := next == 's' && !unicode.IsLower(after(run[i+size+1:]))
			if i > 0 && (unicode.IsLower(before) || unicode.IsUpper(before) && unicode.IsLower(next) && !plural) {
				return i
			}
			fallthrough
		default:
			if digits > 0 && letters == 0 && letterRun(run[i:]) >= 3 {
				return i
			}
			letters++
		}
		before = r
	}
	return len(run)
}

// after returns the first character of s, or 0.
func after(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// letterRun counts the letters that s begins with, up to 3.
func letterRun(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsDigit(r) || n == 3 {
			break
		}
		n++
	}
	return n
}
