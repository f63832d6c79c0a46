package mcp

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"
)

const (
	// maxEventField bounds what is kept of an event's name and id, in bytes: no
	// name we know and no id in use comes near it.
	maxEventField = 4 << 10
	// maxFieldName is the longest field name of the format, "event" and "retry".
	maxFieldName = 5
)

// sseEvent is one event of an event stream. data belongs to the receiver; of an
// event over the limit it holds only the beginning, as of a line over it.
type sseEvent struct {
	kind string // "" is "message"
	data line
	// unfinished marks the last event of a stream that ended before the event
	// did. WHATWG HTML 9.2.6 discards it.
	unfinished bool
}

// sseReader reads an event stream (WHATWG HTML 9.2.5 and 9.2.6). Lines end in LF,
// CR LF or CR wherever reads are cut, and are never held as a whole: the values of
// data fields go into parts, which are put together once, at the event's end.
type sseReader struct {
	r   io.Reader
	max int // bytes of one event's data

	// lastID and retry are the stream's last event id and reconnection time; 0 is
	// none.
	lastID string
	retry  time.Duration

	buf  *[sseBuffer]byte
	rest []byte // of buf, not read yet
	err  error

	started   bool // past a byte order mark
	skipLF    bool // the line before ended in CR
	field     []byte
	inValue   bool // past the field's colon
	spaced    bool // past the one space after it
	ignored   bool // the line is a comment or of no known field
	value     []byte
	kind      string
	parts     [][]byte
	size      int
	dataLines int
	over      line // the event's data once it is over the limit
}

const sseBuffer = 32 << 10

var sseBuffers = sync.Pool{New: func() any { return new([sseBuffer]byte) }}

func newSSEReader(r io.Reader, max int) *sseReader {
	return &sseReader{r: r, max: max, buf: sseBuffers.Get().(*[sseBuffer]byte)}
}

// release gives the buffers back; the reader must not be used any more.
func (s *sseReader) release() {
	s.reset()
	s.rest = nil
	if s.buf != nil {
		sseBuffers.Put(s.buf)
		s.buf = nil
	}
}

// next returns the next event that has data. After the last one the error is
// io.EOF, or what reading failed with.
func (s *sseReader) next() (sseEvent, error) {
	for {
		for len(s.rest) > 0 {
			if e, ok := s.take(); ok {
				return e, nil
			}
		}
		if s.err != nil {
			return s.last()
		}
		n, err := s.r.Read(s.buf[:])
		s.rest, s.err = s.buf[:n], err
		if !s.started && n > 0 {
			s.mark()
		}
	}
}

// mark strips a byte order mark, which may come in pieces.
func (s *sseReader) mark() {
	const bom = "\xef\xbb\xbf"
	for len(s.rest) < len(bom) && s.err == nil && string(s.rest) == bom[:len(s.rest)] {
		var n int
		n, s.err = s.r.Read(s.buf[len(s.rest):])
		s.rest = s.buf[:len(s.rest)+n]
	}
	s.rest = bytes.TrimPrefix(s.rest, []byte(bom))
	s.started = true
}

// take reads up to the end of a line; ok says that an event ended with it.
func (s *sseReader) take() (e sseEvent, ok bool) {
	if s.skipLF {
		s.skipLF = false
		if s.rest[0] == '\n' {
			s.rest = s.rest[1:]
			return e, false
		}
	}
	end := lineEnd(s.rest)
	if end < 0 {
		s.feed(s.rest)
		s.rest = nil
		return e, false
	}
	s.feed(s.rest[:end])
	s.skipLF = s.rest[end] == '\r'
	s.rest = s.rest[end+1:]
	return s.endLine()
}

// lineEnd returns the index of the first CR or LF, or -1. It looks at small
// pieces, so that a distant LF is not searched again and again before many CRs.
func lineEnd(b []byte) int {
	const piece = 1 << 10
	for i := 0; i < len(b); i += piece {
		p := b[i:min(i+piece, len(b))]
		lf := bytes.IndexByte(p, '\n')
		if lf >= 0 {
			p = p[:lf]
		}
		if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
			return i + cr
		}
		if lf >= 0 {
			return i + lf
		}
	}
	return -1
}

// feed takes a piece of a line.
func (s *sseReader) feed(b []byte) {
	if !s.inValue && !s.ignored {
		colon := bytes.IndexByte(b, ':')
		name := b
		if colon >= 0 {
			name = b[:colon]
		}
		if len(s.field)+len(name) > maxFieldName {
			s.ignored = true
			return
		}
		s.field = append(s.field, name...)
		if colon < 0 {
			return
		}
		s.inValue, b = true, b[colon+1:]
		s.ignored = !s.known()
	}
	if s.ignored || len(b) == 0 {
		return
	}
	if !s.spaced {
		s.spaced = true
		if b[0] == ' ' {
			b = b[1:]
		}
	}
	if string(s.field) == "data" {
		s.data(b)
		return
	}
	s.value = append(s.value, b[:min(len(b), maxEventField-len(s.value))]...)
}

func (s *sseReader) known() bool {
	switch string(s.field) {
	case "data":
		s.newData()
		return true
	case "event", "id", "retry":
		return true
	}
	return false // "" is a comment
}

// newData begins the value of a data field.
func (s *sseReader) newData() {
	if s.dataLines++; s.dataLines > 1 {
		s.data([]byte{'\n'})
	}
}

// data adds bytes to the event's data.
func (s *sseReader) data(b []byte) {
	if s.size += len(b); s.size > s.max {
		if s.over.data == nil {
			s.over = cut(s.parts, b, s.size)
			s.drop()
		} else {
			s.over.tail = append(s.over.tail, b...)
			if extra := len(s.over.tail) - keptTail; extra > 0 {
				s.over.tail = append(s.over.tail[:0], s.over.tail[extra:]...)
			}
		}
		s.over.size = int64(s.size)
		return
	}
	for len(b) > 0 {
		if n := len(s.parts); n == 0 || len(s.parts[n-1]) == cap(s.parts[n-1]) {
			s.parts = append(s.parts, partPool.get())
		}
		p := &s.parts[len(s.parts)-1]
		n := min(len(b), cap(*p)-len(*p))
		*p = append(*p, b[:n]...)
		b = b[n:]
	}
}

// endLine ends a line: a field, or with an empty one the event.
func (s *sseReader) endLine() (e sseEvent, ok bool) {
	empty := len(s.field) == 0 && !s.inValue && !s.ignored
	if empty {
		return s.dispatch()
	}
	if !s.ignored && (s.inValue || s.known()) {
		switch string(s.field) {
		case "event":
			s.kind = string(s.value)
		case "id":
			if bytes.IndexByte(s.value, 0) < 0 && len(s.value) < maxEventField {
				s.lastID = string(s.value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(s.value), 10, 31); err == nil {
				s.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	s.newLine()
	return e, false
}

func (s *sseReader) newLine() {
	s.field, s.value = s.field[:0], s.value[:0]
	s.inValue, s.spaced, s.ignored = false, false, false
}

// dispatch ends an event. One without data is none, and one whose data is empty
// holds no message.
func (s *sseReader) dispatch() (e sseEvent, ok bool) {
	defer s.reset()
	switch {
	case s.over.data != nil:
		return sseEvent{kind: s.kind, data: s.over}, true
	case s.size > 0:
		return sseEvent{kind: s.kind, data: line{data: bytes.Join(s.parts, nil), size: int64(s.size)}}, true
	}
	return e, false
}

func (s *sseReader) reset() {
	s.drop()
	s.over, s.size, s.dataLines, s.kind = line{}, 0, 0, ""
}

func (s *sseReader) drop() {
	partPool.put(s.parts)
	clear(s.parts)
	s.parts = s.parts[:0]
}

// last is what is there at the end of the stream.
func (s *sseReader) last() (sseEvent, error) {
	if len(s.field) > 0 || s.inValue {
		s.endLine()
	}
	if e, ok := s.dispatch(); ok && s.err == io.EOF {
		e.unfinished = true
		return e, nil
	}
	return sseEvent{}, s.err
}
