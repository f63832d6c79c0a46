package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
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
			return lr.cut(nil, part, int64(len(part))), nil
		}
		return line{data: bytes.Clone(part), size: int64(len(part))}, nil
	}
	var data []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(data)+len(part) > lr.max {
			return lr.drain(data, part)
		}
		if len(data)+len(part) > cap(data) {
			data = slices.Grow(data, 2*len(data)+readBuffer) // append alone would grow by a quarter and copy four times as much
		}
		data = append(data, part...)
		part, err = lr.r.ReadSlice('\n')
	}
	if err == nil {
		part = part[:len(part)-1]
	} else if len(data)+len(part) == 0 {
		return line{}, err
	}
	if len(data)+len(part) > lr.max {
		return lr.cut(data, part, int64(len(data)+len(part))), nil
	}
	data = append(data, part...)
	return line{data: data, size: int64(len(data))}, nil
}

// drain reads a line over the limit to its end.
func (lr *lineReader) drain(data, part []byte) (line, error) {
	l := lr.cut(data, part, int64(len(data)+len(part)))
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
			return l, nil // an error shows again at the next read
		}
	}
}

func (lr *lineReader) cut(data, part []byte, size int64) line {
	head := bytes.Clone(data[:min(len(data), keptHead)])
	head = append(head, part[:min(len(part), keptHead-len(head))]...)
	tail := bytes.Clone(part[max(0, len(part)-keptTail):])
	return line{data: head, tail: tail, size: size}
}
