package excerpt

import (
	"testing"
	"unicode/utf8"
)

func TestOf(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"日本語", 9, "日本語"},
		{"日本語", 8, "日…"}, // never half a rune
		{"ab日本", 7, "ab…"},
		{"a\xffb", 9, "a\uFFFDb"},
		{"", 3, ""},
		{"exactly10!", 10, "exactly10!"},
		{"ééééééé", 10, "ééé…"},
	}
	for _, test := range tests {
		got := Of(test.in, test.n)
		if got != test.want || len(got) > test.n || !utf8.ValidString(got) {
			t.Errorf("Of(%q, %d) = %q, want %q", test.in, test.n, got, test.want)
		}
	}
}
