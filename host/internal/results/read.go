package results

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
)

// Read reads a part of a result that owner has put. With fit, the answer's
// Page.Result has at most that many bytes, which is at least 1 KiB, and the page
// ends where it has to; without (0), only the slice bounds it. The error is a *failure.Failure:
// not-found for a handle that is none, invalid-arguments for a slice beyond the
// end, invalid-result for a damaged file.
func (s *Store) Read(owner, handle string, slice Slice, fit int64) (*Page, error) {
	return s.read(&owner, handle, slice, fit)
}

// ReadAny reads as Read does, whoever owns the result: it is for the person whose
// files these are, and never for a client.
func (s *Store) ReadAny(handle string, slice Slice, fit int64) (*Page, error) {
	return s.read(nil, handle, slice, fit)
}

func (s *Store) read(owner *string, handle string, slice Slice, fit int64) (*Page, error) {
	if err := slice.Check(); err != nil {
		return nil, err
	}
	file, err := s.find(owner, handle)
	if err != nil {
		return nil, err
	}
	k, err := load(file)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	src, err := k.source(slice.Path)
	if err != nil {
		return nil, err
	}
	page, err := src.page(slice, fit)
	var own *failure.Failure
	if err != nil && !errors.As(err, &own) {
		return nil, damaged(err)
	}
	return page, err
}

// source is what is read in parts: valid UTF-8.
type source struct {
	io.ReaderAt
	size  int64
	lines int64
}

// source is the text, read from the file, or the value at a path, in memory.
func (k *kept) source(path string) (*source, error) {
	if path == "" {
		return &source{io.NewSectionReader(k, k.Text.At, k.Text.Length), k.Text.Length, k.Lines}, nil
	}
	raw := make([]byte, k.Raw)
	if _, err := k.ReadAt(raw, 0); err != nil {
		return nil, damaged(err)
	}
	value, err := valueAt(raw, path)
	if err != nil {
		return nil, err
	}
	return &source{strings.NewReader(value), int64(len(value)), countLines([]byte(value))}, nil
}

func (src *source) page(slice Slice, fit int64) (*Page, error) {
	if slice.Lines != (Lines{}) {
		return src.pageOfLines(slice.Lines, fit)
	}
	if slice.Offset > src.size {
		return nil, refused(failure.InvalidArguments, "offset %d is beyond the end: there are %d bytes", slice.Offset, src.size)
	}
	at, err := src.runeStart(slice.Offset)
	if err != nil {
		return nil, err
	}
	limit := int64(unbounded)
	if slice.Limit > 0 {
		limit = slice.Limit
	}
	data, err := src.data(at, limit, fit)
	if err != nil {
		return nil, err
	}
	p := &Page{Data: string(data), Offset: at, Total: src.size}
	if end := at + int64(len(data)); end < src.size {
		p.Next = &Next{Offset: end}
	}
	return p, nil
}

// data reads whole characters from at on, at most limit bytes and no more than
// fits, but at least one character unless it is the end.
func (src *source) data(at, limit, fit int64) ([]byte, error) {
	want := min(limit, src.size-at)
	if fit > 0 {
		want = min(want, fit)
	}
	// Three bytes more, to see whether a character goes on.
	data := make([]byte, min(want+3, src.size-at))
	if n, err := src.ReadAt(data, at); n < len(data) {
		return nil, err
	}
	if int64(len(data)) > want {
		cut := backToRune(data, int(want))
		if cut == 0 { // one character is longer than what is wanted
			for cut = 1; cut < len(data) && backToRune(data, cut) != cut; {
				cut++
			}
		}
		data = data[:cut]
	}
	if fit > 0 {
		data = data[:room(data, fit)]
	}
	return data, nil
}

// runeStart moves an offset back to the beginning of the character it is in.
func (src *source) runeStart(at int64) (int64, error) {
	from := max(at-3, 0)
	around := make([]byte, min(at+1, src.size)-from)
	if n, err := src.ReadAt(around, from); n < len(around) {
		return 0, err
	}
	return from + int64(backToRune(around, int(at-from))), nil
}

func (src *source) pageOfLines(want Lines, fit int64) (*Page, error) {
	if want.From > max(src.lines, 1) {
		return nil, refused(failure.InvalidArguments, "line %d is beyond the end: there are %d lines", want.From, src.lines)
	}
	to := src.lines
	if want.To > 0 {
		to = min(to, want.To)
	}
	at, err := src.lineStart(want.From)
	if err != nil {
		return nil, err
	}
	limit := int64(unbounded)
	if to < src.lines && fit == 0 {
		end, err := src.lineStart(to + 1)
		if err != nil {
			return nil, err
		}
		limit = end - at
	}
	data, err := src.data(at, max(limit, 1), fit)
	if err != nil {
		return nil, err
	}
	// What follows the last line asked for goes, then a line that is not all there,
	// unless it is the only one.
	last := want.From - 1
	end := 0
	for last < to {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			break
		}
		last, end = last+1, end+i+1
	}
	p := &Page{Offset: at, Total: src.size, TotalLines: src.lines}
	switch {
	case last == to || end > 0 && at+int64(len(data)) < src.size:
		data = data[:end]
	case at+int64(len(data)) < src.size: // a part of one long line
		last, p.Next = want.From, &Next{Offset: at + int64(len(data))}
	default: // the last line, without a newline
		last = to
	}
	p.Data, p.Lines = string(data), Lines{want.From, max(last, want.From)}
	if p.Next == nil && at+int64(len(data)) < src.size {
		p.Next = &Next{Lines: following(want, last, src.lines)}
	}
	return p, nil
}

// following are the lines to ask for after last: the rest of those that were
// wanted, or else as many again.
func following(want Lines, last, all int64) Lines {
	switch {
	case want.To == 0:
		return Lines{From: last + 1}
	case last < want.To:
		return Lines{last + 1, min(want.To, all)}
	default:
		return Lines{last + 1, min(last+1+want.To-want.From, all)}
	}
}

// lineStart is where a line begins, or the end when there are fewer.
func (src *source) lineStart(line int64) (int64, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(src, 0, src.size), chunk)
	var at int64
	for line > 1 {
		part, err := r.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case err == nil:
			line--
		case err == io.EOF:
			return at, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
	return at, nil
}
