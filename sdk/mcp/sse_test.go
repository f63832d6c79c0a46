package mcp

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readEvents reads a whole stream; events are "kind|data", "!" marks the
// unfinished one.
func readEvents(r io.Reader, max int) (events []string, s *sseReader, err error) {
	s = newSSEReader(r, max)
	defer s.release()
	for {
		e, err := s.next()
		if err != nil {
			return events, s, err
		}
		text := e.kind + "|" + string(e.data.data)
		if e.data.tail != nil {
			text += "..." + string(e.data.tail)
		}
		if e.unfinished {
			text += "!"
		}
		events = append(events, text)
	}
}

func TestSSE(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "event: message\ndata: {}\n\n", []string{"message|{}"}},
		{"no kind", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"no space", "event:x\ndata:a\n\n", []string{"x|a"}},
		{"one space of two", "data:  a\n\n", []string{"| a"}},
		{"CR", "event: x\rdata: a\r\rdata: b\r\r", []string{"x|a", "|b"}},
		{"CR LF", "event: x\r\ndata: a\r\n\r\n", []string{"x|a"}},
		{"mixed", "data: a\rdata: b\ndata: c\r\n\ndata: d\n\r", []string{"|a\nb\nc", "|d"}},
		{"lines", "data: a\ndata:\ndata\ndata: b\n\n", []string{"|a\n\n\nb"}},
		{"comment", ": c\n:\ndata: a\n: c\n\n:\n\n", []string{"|a"}},
		{"unknown", "foo: bar\nevents: x\nbare\ndata: a\n\n", []string{"|a"}},
		{"case counts", "Data: a\nDATA: b\ndata: c\n\n", []string{"|c"}},
		{"BOM", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"|a"}},
		{"kind does not carry over", "event: x\n\ndata: a\n\n", []string{"|a"}},
		{"last kind counts", "event: x\nevent: y\ndata: a\n\n", []string{"y|a"}},
		{"colons", "data: a: b\n\ndata::\n\n", []string{"|a: b", "|:"}},
		{"unfinished", "data: a\n\ndata: b\n", []string{"|a", "|b!"}},
		{"unfinished line", "data: a\n\ndata: b", []string{"|a", "|b!"}},
		{"empty", "", nil},
		{"only ends", "\n\n\r\r\r\n", nil},
		{"no data", "event: x\nid: 1\n\n", nil},
		{"id with NUL", "id: 1\nid: a\x00b\ndata: a\n\n", []string{"|a"}},
		{"too long", "data: 0123456789\n\ndata: b\n\n", []string{"|0123456789", "|b"}},
		{"over", "data: 0123456789a\ndata: x\n\ndata: b\n\n", []string{"|0123456789a...0123456789a\nx", "|b"}},
		{"over in lines", "data: 01234\ndata: 56789\n\ndata: b\n\n", []string{"|01234\n56789...56789", "|b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":        strings.NewReader(test.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(test.in)),
				"halves":       iotest.HalfReader(strings.NewReader(test.in)),
				"data and EOF": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got, _, err := readEvents(r, 10)
				want := test.want
				if name == "byte by byte" || name == "halves" { // what is kept of one over the limit depends on the reads
					got, want = cutOver(got), cutOver(want)
				}
				if !slices.Equal(got, want) || err != io.EOF {
					t.Errorf("%s: %q, %v; want %q", name, got, err, want)
				}
			}
		})
	}
}

func cutOver(events []string) []string {
	events = slices.Clone(events)
	for i, e := range events {
		if before, _, ok := strings.Cut(e, "..."); ok {
			events[i] = before[:2]
		}
	}
	return events
}

func TestSSEFields(t *testing.T) {
	_, s, _ := readEvents(strings.NewReader("id: 7\nretry: 250\ndata: a\n\nretry: x\nretry: -1\nretry: 99999999999\nid: a\x00\n\n"), 10)
	if s.lastID != "7" || s.retry != 250*time.Millisecond {
		t.Errorf("id %q, retry %s", s.lastID, s.retry)
	}
	if _, s, _ = readEvents(strings.NewReader("id: 7\n\nid\ndata: a\n\n"), 10); s.lastID != "" {
		t.Errorf("id %q was not reset", s.lastID)
	}
	if _, s, _ = readEvents(strings.NewReader("id: "+strings.Repeat("7", 1<<20)+"\n\n"), 10); s.lastID != "" {
		t.Errorf("an id of %d bytes was kept", len(s.lastID))
	}
}

// An event that a broken connection cuts is no event.
func TestSSEBroken(t *testing.T) {
	broken := errors.New("broken")
	got, _, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 10)
	if !slices.Equal(got, []string{"|a"}) || err != broken {
		t.Errorf("%q, %v", got, err)
	}
}

// Reading costs time in proportion to what is read, however it is cut.
func TestSSELarge(t *testing.T) {
	const size = 8 << 20
	data := strings.Repeat("x", size)
	for name, in := range map[string]string{
		"one line":   "data: " + data + "\n\n",
		"many lines": strings.Repeat("data: 0123456789\n", size/16) + "\n",
		"many CRs":   strings.Repeat("data: 0123456789\r", size/16) + "\r",
		"many ends":  strings.Repeat("\r", size) + "data: a\r\r",
		"comments":   strings.Repeat(": keepalive\n\n", size/16) + "data: a\n\n",
	} {
		began := time.Now()
		events, _, err := readEvents(strings.NewReader(in), 64<<20)
		t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
		if len(events) != 1 || err != io.EOF {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
	}
}

func TestSSEAllocations(t *testing.T) {
	stream := []byte("event: message\nid: 1\ndata: " + strings.Repeat("x", 1000) + "\n\n")
	s := newSSEReader(nil, 1<<20)
	defer s.release()
	r := bytes.NewReader(nil)
	s.r = r
	const limit = 3
	got := testing.AllocsPerRun(500, func() {
		r.Reset(stream)
		s.err = nil
		if _, err := s.next(); err != nil {
			t.Error(err)
		}
	})
	if got > limit { // the data, the kind, the id
		t.Errorf("%.1f allocations per event, want at most %d", got, limit)
	}
}

// FuzzSSE compares with the format's own words, taken literally.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("event: message\ndata: {}\n\n"), uint8(3))
	f.Add([]byte("\ufeffid: 1\r\ndata: a\rdata: b\n\r\n: c\n\n"), uint8(1))
	f.Add([]byte("data\n\ndata:\n\ndata: x"), uint8(2))
	f.Fuzz(func(t *testing.T, in []byte, piece uint8) {
		got, s, err := readEvents(&pieces{in, int(piece)%7 + 1}, 1<<20)
		want, id := literally(string(in))
		if len(got) > 0 && strings.HasSuffix(got[len(got)-1], "!") && len(got) == len(want)+1 {
			got = got[:len(got)-1]
		}
		if !slices.Equal(got, want) || err != io.EOF {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if strings.HasSuffix(string(in), "\n") && s.lastID != id {
			t.Errorf("%q: id %q, want %q", in, s.lastID, id)
		}
	})
}

type pieces struct {
	b []byte
	n int
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[:min(p.n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

// literally interprets a stream as WHATWG HTML 9.2.6 says it.
func literally(in string) (events []string, id string) {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	data, kind := "", ""
	for _, l := range lines[:len(lines)-1] {
		if l == "" {
			if data = strings.TrimSuffix(data, "\n"); data != "" {
				events = append(events, kind+"|"+data)
			}
			data, kind = "", ""
			continue
		}
		field, value, _ := strings.Cut(l, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data += value + "\n"
		case "event":
			kind = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return events, id
}
