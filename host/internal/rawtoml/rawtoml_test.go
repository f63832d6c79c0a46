package rawtoml

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

func TestQuote(t *testing.T) {
	for value, want := range map[string]string{
		"":          `""`,
		"a b":       `"a b"`,
		`C:\x "y"`:  `'C:\x "y"'`,
		`it's \ it`: `"it's \\ it"`,
		"a\nb\x7f":  `"a\nb\u007F"`,
	} {
		if got := Quote(value); got != want {
			t.Errorf("Quote(%q) = %s, want %s", value, got, want)
		}
	}
	if Key("a-b_1") != "a-b_1" || Key("") != `""` || Key("a.b") != `"a.b"` {
		t.Error(Key("a-b_1"), Key(""), Key("a.b"))
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a'\"\\\t\r\n\x00é\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "\uFFFD")
		}
		var got map[string]string
		text := Key(s) + " = " + Quote(s)
		if _, err := toml.Decode(text, &got); err != nil || len(got) != 1 || got[s] != s {
			t.Fatalf("%q became %s: %v, %v", s, text, got, err)
		}
	})
}
