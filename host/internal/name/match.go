package name

import "unicode/utf8"

// Match reports whether the whole of s matches a glob: "*" stands for any
// characters, "/" included, "?" for exactly one, everything else for itself (there
// are no classes and no escapes, so no pattern is malformed). Case matters. The
// work is at most the product of both lengths.
func Match(pattern, s string) bool {
	p, i := 0, 0
	star, resume := -1, 0 // the last "*" seen, and where in s to go on if it has to take more
	for i < len(s) {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			i += size
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			_, size := utf8.DecodeRuneInString(s[resume:])
			resume += size
			p, i = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
