package results

import (
	"math"
	"strconv"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
)

// Slice says which part of a result is wanted: of its text, or of the value at
// Path, a range of bytes or of lines. The zero value is the text from its
// beginning on.
type Slice struct {
	// Path is a GJSON path into the MCP result object ("structuredContent.items.#.name");
	// what a string holds is read as text, every other value as its JSON, "@this" is
	// the result as received. Empty: the text of the result.
	Path string
	// Offset and Limit are bytes. A limit of 0 is none. Nothing is cut inside a
	// character: an offset there moves back to its beginning.
	Offset, Limit int64
	// Lines excludes Offset and Limit.
	Lines Lines
}

// Lines are lines from From to To, both included, the first is 1; a To of 0 is
// the last. The zero value means that lines are not what is asked for.
type Lines struct{ From, To int64 }

// ParseLines reads "A-B", "A-" or "A".
func ParseLines(s string) (Lines, error) {
	from, to, isRange := strings.Cut(s, "-")
	var l Lines
	var err error
	l.From, err = strconv.ParseInt(from, 10, 64)
	switch {
	case err != nil:
	case !isRange:
		l.To = l.From
	case to != "":
		l.To, err = strconv.ParseInt(to, 10, 64)
		if err == nil && l.To < l.From {
			return Lines{}, refused(failure.InvalidArguments, "lines %q: the last is before the first", s)
		}
	}
	if err != nil || l.From < 1 {
		return Lines{}, refused(failure.InvalidArguments, `lines %q: write "A-B", "A-" or "A", the first line is 1`, s)
	}
	return l, nil
}

// String is the reverse of ParseLines.
func (l Lines) String() string {
	switch l.To {
	case 0:
		return strconv.FormatInt(l.From, 10) + "-"
	case l.From:
		return strconv.FormatInt(l.From, 10)
	}
	return strconv.FormatInt(l.From, 10) + "-" + strconv.FormatInt(l.To, 10)
}

// Check refuses a slice that contradicts itself.
func (s Slice) Check() error {
	switch {
	case s.Offset < 0 || s.Limit < 0:
		return refused(failure.InvalidArguments, "offset and limit cannot be less than 0")
	case s.Lines != (Lines{}) && (s.Offset > 0 || s.Limit > 0):
		return refused(failure.InvalidArguments, "lines excludes offset and limit")
	case s.Lines.From < 0 || s.Lines.From == 0 && s.Lines.To != 0 || s.Lines.To != 0 && s.Lines.To < s.Lines.From:
		return refused(failure.InvalidArguments, "lines %d to %d: the first is 1, and the last is not before it", s.Lines.From, s.Lines.To)
	}
	return checkPath(s.Path)
}

// unbounded is the limit of who sets none.
const unbounded = math.MaxInt64
