package cli

import (
	"strings"
	"testing"
)

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"a new file":      {"", "a\nb\n", "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"lines added":     {"a\nd\n", "a\nb\nc\nd\n", "--- f\n+++ f\n@@ -1,0 +2,2 @@\n+b\n+c\n"},
		"lines taken out": {"a\r\nb\r\n", "a\r\n", "--- f\n+++ f\n@@ -2 +1,0 @@\n-b\n"},
		"a line changed":  {"a\nb\nb\n", "a\nx\nb\n", "--- f\n+++ f\n@@ -2 +2 @@\n-b\n+x\n"},
		"no line end":     {"a", "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"a long line":     {"", strings.Repeat("é", maxShown), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+" + strings.Repeat("é", maxShown/2) + "...\n\\ No newline at end of file\n"},
	} {
		if got := differences("f", []byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
