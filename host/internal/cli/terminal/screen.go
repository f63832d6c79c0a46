package terminal

import (
	"fmt"
	"slices"
	"strings"
)

// Screen shows text on Out, in the place of the text before.
type Screen struct {
	streams *Streams
	shown   []string // the lines that are there
	width   int      // of the terminal when they were shown
}

// Screen begins at the line where the cursor is.
func (s *Streams) Screen() *Screen { return &Screen{streams: s} }

// Redraws reports whether what was shown on Out can be replaced: a person looks at it,
// on a terminal that has a cursor to move.
func (s *Streams) Redraws() bool { return s.OutTerminal && !s.dumb }

// Show replaces what is shown by lines, each cut to the width of the terminal, of which
// as many are as fit: what has left a terminal at its top cannot be replaced.
func (v *Screen) Show(lines []string) error {
	width, height := v.streams.Measure()
	if fit := max(height-1, 1); height > 0 && len(lines) > fit {
		hidden := len(lines) - (fit - 1)
		if lines = slices.Clone(lines[:fit]); fit > 1 {
			lines[fit-1] = fmt.Sprintf("... and %d more", hidden)
		}
	}
	if width > 0 {
		lines = slices.Clone(lines)
		for i, l := range lines {
			lines[i] = cutBold(l, width)
		}
	}
	if width == v.width && slices.Equal(lines, v.shown) {
		return nil
	}
	var b strings.Builder
	if up := v.rows(width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	for _, l := range lines {
		b.WriteString("\x1b[2K" + l + "\n")
	}
	b.WriteString("\x1b[J") // what was longer
	v.shown, v.width = lines, width
	_, err := fmt.Fprint(v.streams.Out, b.String())
	return err
}

// rows is how many rows what is shown takes at a width: a terminal that became narrower
// has broken the lines that were made for the width before.
func (v *Screen) rows(width int) int {
	n := len(v.shown)
	if width > 0 && width < v.width {
		for _, l := range v.shown {
			n += max(Columns(plain(l))-1, 0) / width
		}
	}
	return n
}

// Measure looks how large Out is now: its columns, also in Width, and its rows; 0 for
// what is not known.
func (s *Streams) Measure() (width, height int) {
	if s.size != nil {
		if w, h, err := s.size(); err == nil {
			if w > 0 {
				s.Width = w
			}
			height = h
		}
	}
	return s.Width, height
}

// cutBold is Cut for text that may be Bold.
func cutBold(text string, limit int) string {
	if inner := plain(text); inner != text {
		return boldBegin + Cut(inner, limit) + boldEnd
	}
	return Cut(text, limit)
}

// plain is what Bold was given: what of its text takes columns.
func plain(text string) string {
	if inner, ok := strings.CutPrefix(text, boldBegin); ok {
		return strings.TrimSuffix(inner, boldEnd)
	}
	return text
}
