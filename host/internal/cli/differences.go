package cli

import (
	"fmt"
	"slices"
	"strings"
)

// maxShown is the longest line of a file that is shown, in bytes: some clients
// write their whole file on one line.
const maxShown = 400

// differences shows the lines in which a file and the file as it would be differ,
// as a unified diff without lines around them: those may be somebody's secrets.
// One hunk holds everything from the first change to the last.
func differences(path string, before, after []byte) string {
	a, b := lines(before), lines(after)
	top := 0
	for top < min(len(a), len(b)) && a[top] == b[top] {
		top++
	}
	end := 0
	for end < min(len(a), len(b))-top && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	a, b = a[top:len(a)-end], b[top:len(b)-end]
	old := path
	if len(before) == 0 {
		old = "/dev/null"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", old, path, hunk(top, len(a)), hunk(top, len(b)))
	show := func(sign string, list []string) {
		for _, l := range list {
			line := strings.TrimRight(l, "\r\n")
			if len(line) > maxShown {
				line = strings.ToValidUTF8(line[:maxShown], "") + "..."
			}
			out.WriteString(sign + line + "\n")
			if !strings.HasSuffix(l, "\n") {
				out.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	show("-", a)
	show("+", b)
	return out.String()
}

// hunk is where n lines stand that follow the first top ones.
func hunk(top, n int) string {
	if n > 0 {
		top++
	}
	if n == 1 {
		return fmt.Sprint(top)
	}
	return fmt.Sprintf("%d,%d", top, n)
}

// lines are the lines of a text with their ends.
func lines(data []byte) []string {
	return slices.Collect(strings.Lines(string(data)))
}
