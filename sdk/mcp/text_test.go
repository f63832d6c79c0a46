package mcp

import "testing"

// Only a string without escapes is taken as it is written.
func TestText(t *testing.T) {
	for value, want := range map[string]string{
		`""`: "", `"abc /"`: "abc /", `"a\"b"`: `a"b`, `"\u00e9"`: "é", `"é"`: "é", "\"\xff\"": "\uFFFD", `"\\"`: `\`,
	} {
		if got, ok := text([]byte(value)); !ok || got != want {
			t.Errorf("%s is %q, %v", value, got, ok)
		}
	}
	for _, value := range []string{"", `"`, `1`, `null`, `"a`, `"a"b"`, "\"a\n\"", `"\"`} {
		if got, ok := text([]byte(value)); ok {
			t.Errorf("%s is %q", value, got)
		}
	}
}
