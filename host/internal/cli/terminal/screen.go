package terminal

import (
	"fmt"
	"strings"
)

// Screen shows text on Out, in the place of the text before.
type Screen struct {
	streams *Streams
	shown   int // lines that are there
}

// Screen begins at the line where the cursor is.
func (s *Streams) Screen() *Screen { return &Screen{streams: s} }

// Redraws reports whether what was shown on Out can be replaced: a person looks at it,
// on a terminal that has a cursor to move.
func (s *Streams) Redraws() bool { return s.OutTerminal && !s.dumb }

// Show replaces what is shown by lines, of which as many are as fit: what has left a
// terminal at its top cannot be replaced.
func (v *Screen) Show(lines []string) error {
	if h := v.streams.height(); h > 2 && len(lines) > h-1 {
		hidden := len(lines) - (h - 2)
		lines = append(lines[:h-2:h-2], fmt.Sprintf("... and %d more", hidden))
	}
	var b strings.Builder
	if v.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.shown)
	}
	for _, l := range lines {
		b.WriteString("\x1b[2K" + l + "\n")
	}
	b.WriteString("\x1b[J") // what was longer
	v.shown = len(lines)
	_, err := fmt.Fprint(v.streams.Out, b.String())
	return err
}

// height is the number of rows of Out now, 0 when it is not known.
func (s *Streams) height() int {
	if s.size == nil {
		return 0
	}
	w, h, err := s.size()
	if err != nil {
		return 0
	}
	if w > 0 {
		s.Width = w
	}
	return h
}
