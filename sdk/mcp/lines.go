package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	// readBuffer is one read from the pipe: the size of a Linux pipe.
	readBuffer = 64 << 10
	// keptHead and keptTail are what is kept of a line over the limit, enough to
	// find the id of the request it answers at either end.
	keptHead = 4 << 10
	keptTail = 512
)

// line is one line of input without its newline. data belongs to the receiver.
type line struct {
	data []byte
	size int64 // bytes of the line as it came
	// tail is set when the line was over the limit: its last bytes, while data
	// holds only its first ones.
	tail []byte
}

// lineReader cuts a byte stream into lines. It frames bytes, never characters,
// so a character split over two reads stays whole.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns the next line. The last line needs no newline. A line over the
// limit is read to its end and reported with only its head and tail. After the
// last line the error is io.EOF or what reading failed with.
func (lr *lineReader) next() (line, error) {
	part, err := lr.r.ReadSlice('\n')
	if err == nil {
		part = part[:len(part)-1]
		if len(part) > lr.max {
			return cut(nil, part, len(part)), nil
		}
		return line{data: bytes.Clone(part), size: int64(len(part))}, nil
	}
	// A long line is put together once, at its exact size: it stays alive with the
	// result that points into it, its parts do not.
	var (
		parts [][]byte
		size  int
	)
	defer func() { partPool.put(parts) }()
	for errors.Is(err, bufio.ErrBufferFull) {
		if size+len(part) > lr.max {
			return lr.drain(parts, part, size+len(part)), nil
		}
		parts = append(parts, append(partPool.get(), part...))
		size += len(part)
		part, err = lr.r.ReadSlice('\n')
	}
	if err == nil {
		part = part[:len(part)-1]
	} else if size+len(part) == 0 {
		return line{}, err
	}
	size += len(part)
	if size > lr.max {
		return cut(parts, part, size), nil
	}
	return line{data: bytes.Join(append(parts, part), nil), size: int64(size)}, nil
}

// partPool keeps the parts of long lines for the next ones. Otherwise every line
// leaves as much garbage again as it is long: a third of the time that a result
// of 1 MiB takes in a plugin. Two collections later what nobody used is gone.
var partPool parts

type parts struct{ pool sync.Pool }

// get returns an empty part with room for one read.
func (p *parts) get() []byte {
	if b, ok := p.pool.Get().(*[readBuffer]byte); ok {
		return b[:0]
	}
	return make([]byte, 0, readBuffer)
}

func (p *parts) put(used [][]byte) {
	for _, b := range used {
		if cap(b) == readBuffer {
			p.pool.Put((*[readBuffer]byte)(b[:readBuffer]))
		}
	}
}

// drain reads a line over the limit to its end; size bytes of it were read.
func (lr *lineReader) drain(parts [][]byte, part []byte, size int) line {
	l := cut(parts, part, size)
	for {
		part, err := lr.r.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		l.size += int64(len(part))
		l.tail = append(l.tail, part...)
		if over := len(l.tail) - keptTail; over > 0 {
			l.tail = append(l.tail[:0], l.tail[over:]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l // an error shows again at the next read
		}
	}
}

// cut is a line over the limit: the head of parts and last, the tail of last.
func cut(parts [][]byte, last []byte, size int) line {
	var head []byte
	for _, p := range append(parts, last) {
		head = append(head, p[:min(len(p), keptHead-len(head))]...)
	}
	return line{data: head, tail: bytes.Clone(last[max(0, len(last)-keptTail):]), size: int64(size)}
}
