package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Table writes rows in aligned columns under bold headings. On a terminal the
// last column is cut to what is left of the line; elsewhere nothing is cut.
func (s *Streams) Table(headings []string, rows [][]string) error {
	return s.table(headings, rows, func(cell string, limit int) []string { return []string{Cut(cell, limit)} })
}

// WrappedTable is a Table whose last column goes on in further lines instead of
// being cut.
func (s *Streams) WrappedTable(headings []string, rows [][]string) error {
	return s.table(headings, rows, wrap)
}

// minLast is what the last column gets on however narrow a terminal.
const minLast = 10

func (s *Streams) table(headings []string, rows [][]string, fit func(cell string, limit int) []string) error {
	const gap = 2
	widths := make([]int, len(headings))
	lines := make([][]string, 0, len(rows)+1)
	lines = append(lines, headings)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = s.Text(Line(cell))
		}
		lines = append(lines, cells)
	}
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], Columns(cell))
		}
	}
	var b strings.Builder
	for n, cells := range lines {
		var line strings.Builder
		used := 0
		for i, cell := range cells {
			if i == len(cells)-1 {
				if s.Width > 0 {
					indent := "\n" + strings.Repeat(" ", used)
					cell = strings.Join(fit(cell, max(s.Width-used, minLast)), indent)
				}
				line.WriteString(cell)
				break
			}
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-Columns(cell)+gap))
			used += widths[i] + gap
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text = s.Bold(text)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}

// wrap breaks text between words into lines of at most limit columns. A word that
// is longer has a line of its own.
func wrap(text string, limit int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case Columns(*last)+1+Columns(word) <= limit:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Columns returns how many columns of a terminal text takes.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += columns(r)
	}
	return n
}

// Cut shortens text to at most limit columns, with an ellipsis when something
// was left out.
func Cut(text string, limit int) string {
	if Columns(text) <= limit {
		return text
	}
	used := 0
	for i, r := range text {
		if used+columns(r) > limit-1 {
			return text[:i] + "…"
		}
		used += columns(r)
	}
	return text
}

func columns(r rune) int {
	if r < utf8.RuneSelf { // most of what is printed
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
