package child

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// frame is a line of the engine's stack: "    at name (<eval>:12:3)".
var frame = regexp.MustCompile(`^\s*at (?:(.*) \()?<eval>:(\d+)(?::(\d+))?\)?$`)

// position is the engine's line and column in the script as it was written; 0 when
// it is not in the script.
func (s *script) position(line, column int) (int, int) {
	if line < firstLine {
		return 0, 0
	}
	line -= firstLine - 1
	if s.lines != nil {
		if line, column = s.lines.original(line, column); line == 0 {
			return 0, 0
		}
	}
	return line + s.offset, column
}

// maxFrames of a stack are kept.
const maxFrames = 20

// stack is the engine's stack as one of the script, without the frames of the
// prelude, and the position of its first frame.
func (s *script) stack(engine string) (text string, line, column int) {
	var frames []string
	for l := range strings.Lines(engine) {
		m := frame.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		n, col = s.position(n, col)
		if n == 0 {
			continue
		}
		if line == 0 {
			line, column = n, col
		}
		at := "script:" + strconv.Itoa(n) + ":" + strconv.Itoa(col)
		if m[1] != "" && m[1] != "<anonymous>" && m[1] != "script" {
			at = m[1] + " (" + at + ")"
		}
		if frames = append(frames, "    at "+at); len(frames) == maxFrames {
			break
		}
	}
	return strings.Join(frames, "\n"), line, column
}

// lineMap says where the lines of transformed code come from: a source map, revision 3
// (ECMA-426), of one source whose first line is our own.
type lineMap struct {
	lines [][]segment
}

// segment says that what begins at a column comes from there; all count from 0.
type segment struct{ column, fromLine, fromColumn int }

func newLineMap(sourceMap []byte) *lineMap {
	var m struct {
		Mappings string `json:"mappings"`
	}
	if json.Unmarshal(sourceMap, &m) != nil {
		return &lineMap{}
	}
	out := &lineMap{}
	line, from := 0, 0
	for group := range strings.SplitSeq(m.Mappings, ";") {
		column := 0
		var segments []segment
		for field := range strings.SplitSeq(group, ",") {
			v := vlq(field)
			if len(v) < 4 {
				continue
			}
			column += v[0]
			line += v[2]
			from += v[3]
			segments = append(segments, segment{column, line, from})
		}
		out.lines = append(out.lines, segments)
	}
	return out
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// vlq decodes the numbers of one segment.
func vlq(field string) (values []int) {
	value, shift := 0, 0
	for i := range len(field) {
		d := strings.IndexByte(base64Digits, field[i])
		if d < 0 {
			return nil
		}
		value |= (d & 31) << shift
		if shift += 5; d&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -(value >> 1)
		} else {
			value >>= 1
		}
		values = append(values, value)
		value, shift = 0, 0
	}
	return values
}

// original is where a line and a column, both from 1, come from: the line in the
// code that was transformed, without our own first line.
func (m *lineMap) original(line, column int) (int, int) {
	if line < 1 || line > len(m.lines) {
		return 0, 0
	}
	var found *segment
	for i, s := range m.lines[line-1] {
		if s.column > column-1 && found != nil {
			break
		}
		found = &m.lines[line-1][i]
	}
	if found == nil || found.fromLine < 1 {
		return 0, 0
	}
	return found.fromLine, found.fromColumn + 1
}
