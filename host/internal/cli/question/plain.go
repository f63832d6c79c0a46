package question

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// Bounds on texts of strangers, in characters; and lines of a message.
const (
	maxName    = 128
	maxText    = 400
	maxMessage = 4000
	maxLines   = 40
)

// plain is a stranger's text on one line, in which nothing acts on a terminal, and of
// which at most limit characters are left.
func plain(s string, limit int) string {
	return terminal.Visible(cut(terminal.Line(s), limit))
}

// Mode is a question's mode that is not known, for a sentence.
func Mode(mode string) string { return strconv.Quote(plain(mode, maxName)) }

// lines are a message for a person, indented.
func lines(message string) string {
	var b strings.Builder
	all := strings.Split(strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n")), "\n")
	shown := cut(strings.Join(all[:min(len(all), maxLines)], "\n"), maxMessage)
	for l := range strings.SplitSeq(shown, "\n") {
		fmt.Fprintf(&b, "  %s\n", terminal.Visible(strings.TrimRight(l, " \t")))
	}
	if more := len(all) - maxLines; more > 0 {
		fmt.Fprintf(&b, "  ... and %d more lines\n", more)
	}
	return b.String()
}

// cut says what it leaves out.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return fmt.Sprintf("%s... (%d more characters)", string(r[:limit]), len(r)-limit)
}
