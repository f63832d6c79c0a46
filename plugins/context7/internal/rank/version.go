package rank

import (
	"cmp"
	"slices"
	"strings"
)

// Version returns the one of the versions that is meant by want, spelled as in
// the list: the same, or the newest that begins with it ("15" is the newest
// 15.x), releases before previews. Empty when there is none.
func Version(versions []string, want string) string {
	asked := parts(want)
	if len(asked) == 0 {
		return ""
	}
	best := ""
	for _, v := range versions {
		have := parts(v)
		if slices.Equal(have, asked) {
			return v
		}
		if len(have) < len(asked) || !slices.Equal(have[:len(asked)], asked) {
			continue
		}
		if best == "" || newer(have, parts(best)) {
			best = v
		}
	}
	return best
}

// parts is a version without its v, cut at dots, dashes, underscores and pluses.
func parts(version string) []string {
	v := strings.ToLower(strings.TrimSpace(version))
	if len(v) > 1 && v[0] == 'v' && isNumber(v[1:2]) {
		v = v[1:]
	}
	return strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(".-_+", r) })
}

// newer compares numbers as numbers; a word makes a preview, which is older than
// the release it leads to.
func newer(a, b []string) bool {
	for i := range max(len(a), len(b)) {
		if c := comparePart(at(a, i), at(b, i)); c != 0 {
			return c > 0
		}
	}
	return false
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func comparePart(a, b string) int {
	return cmp.Or(cmp.Compare(kind(a), kind(b)), compareText(a, b))
}

// kind orders a word before the end before a number.
func kind(part string) int {
	switch {
	case part == "":
		return 1
	case isNumber(part):
		return 2
	default:
		return 0
	}
}

func compareText(a, b string) int {
	if isNumber(a) && isNumber(b) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
