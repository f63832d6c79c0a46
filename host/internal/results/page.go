package results

import (
	"fmt"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// Page is a part of a result, and where the next one is.
type Page struct {
	Data   string // valid UTF-8
	Offset int64  // where Data begins, in bytes
	Total  int64  // bytes of all of it
	// Lines are those in Data, the last perhaps in part, and TotalLines how many
	// there are in all; only of who asked for lines.
	Lines      Lines
	TotalLines int64
	// Next is what follows: an offset, or lines where those were asked for and none
	// was cut in two. Nil at the end.
	Next *Next
}

// Next says how to go on, with the same handle and path; one of its fields is set.
type Next struct {
	Offset int64
	Lines  Lines
}

// overhead is more than the answer has around its data, in bytes.
const overhead = 480

// cost is the length of r in a JSON string, at most.
func cost(r rune) int64 {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20:
		return 6
	}
	return int64(utf8.RuneLen(r))
}

// room is how much of the data fits into an answer of fit bytes, in which it is
// twice. It is at least one character, so that a reader gets on.
func room(data []byte, fit int64) int {
	left := (fit - overhead) / 2
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if left -= cost(r); left < 0 && i > 0 {
			return i
		}
		i += n
	}
	return len(data)
}

// JSON is the page as an object, the structuredContent of result_read and what
// the CLI prints:
//
//	{"data", "offset", "total", "lines": "A-B", "totalLines", "next": {"offset"} | {"lines": "A-B"}}
//
// lines and totalLines are there when lines were asked for, next unless this is
// the end.
func (p *Page) JSON() []byte {
	var o rawjson.Object
	o.String("data", p.Data)
	o.Int("offset", p.Offset)
	o.Int("total", p.Total)
	if p.Lines != (Lines{}) {
		o.String("lines", p.Lines.String())
		o.Int("totalLines", p.TotalLines)
	}
	if p.Next != nil {
		var n rawjson.Object
		if p.Next.Lines != (Lines{}) {
			n.String("lines", p.Next.Lines.String())
		} else {
			n.Int("offset", p.Next.Offset)
		}
		o.Raw("next", n.Bytes())
	}
	return o.Bytes()
}

// Result is the page as the MCP result of result_read: the data as text with a
// last line that says what it is a part of and how to go on, and JSON.
func (p *Page) Result() []byte {
	text := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), p.Data+"\n"+p.position())
	text = append(text, `}],"structuredContent":`...)
	return append(append(text, p.JSON()...), '}')
}

func (p *Page) position() string {
	what := fmt.Sprintf("bytes %d to %d of %d", p.Offset, p.Offset+int64(len(p.Data)), p.Total)
	if p.Lines != (Lines{}) {
		what = fmt.Sprintf("lines %s of %d, %s", p.Lines, p.TotalLines, what)
	}
	switch {
	case p.Next == nil:
		what += "; this is the end"
	case p.Next.Lines != (Lines{}):
		what += fmt.Sprintf("; go on with lines %q", p.Next.Lines)
	default:
		what += fmt.Sprintf("; go on with offset %d", p.Next.Offset)
	}
	return "[" + what + "]"
}
