package control

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// conn is a connection that reads what a test puts in.
type conn struct {
	net.Conn
	in io.Reader
}

func (c conn) Read(p []byte) (int, error) { return c.in.Read(p) }

// written keeps what is written.
type written struct {
	net.Conn
	bytes.Buffer
}

func (w *written) Write(p []byte) (int, error)    { return w.Buffer.Write(p) }
func (w *written) Read(p []byte) (int, error)     { return w.Buffer.Read(p) }
func (*written) SetWriteDeadline(time.Time) error { return nil }

// Large messages let small ones in between, and every byte arrives.
func TestMessagesInParts(t *testing.T) {
	w := new(written)
	s := newStream(w)
	large := bytes.Repeat([]byte("0123456789abcdef"), 3*maxPart/16+7)
	if err := s.frame(opDone, 1, large[:maxPart], true); err != nil {
		t.Fatal(err)
	}
	if err := s.write(opPong, 2, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.write(opDone, 1, large[maxPart:]); err != nil {
		t.Fatal(err)
	}
	in := newStream(w)
	var got []message
	for range 2 {
		m, err := in.read()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if got[0].op != opPong || got[0].id != 2 || got[1].op != opDone || got[1].id != 1 || !bytes.Equal(got[1].body, large) {
		t.Errorf("%d %d, %d %d with %d bytes", got[0].op, got[0].id, got[1].op, got[1].id, len(got[1].body))
	}
	if in.size != 0 || len(in.parts) != 0 {
		t.Errorf("%d bytes of %d messages are kept", in.size, len(in.parts))
	}
	if err := s.write(opDone, 1, make([]byte, maxMessage+1)); err == nil {
		t.Error("what nobody would read is written")
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	for name, raw := range map[string][]byte{
		"a long part": slices.Concat([]byte{opDone, 0}, make([]byte, 8), []byte{0xff, 0, 0, 0}),
		"a flag":      slices.Concat([]byte{opDone, 2}, make([]byte, 8), make([]byte, 4)),
		"half a head": {opDone, 0, 1},
		"half a body": slices.Concat([]byte{opDone, 0}, make([]byte, 8), []byte{0, 0, 0, 2, 1}),
	} {
		if m, err := newStream(conn{in: bytes.NewReader(raw)}).read(); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	// Parts without end are not kept without end.
	var raw []byte
	for i := range byte(maxParts + 3) {
		raw = slices.Concat(raw, []byte{opDone, 1, 0, 0, 0, 0, 0, 0, 0, i, 0, 0, 0, 1, 7})
	}
	if _, err := newStream(conn{in: bytes.NewReader(raw)}).read(); err == nil || err == io.EOF {
		t.Errorf("any number of messages is begun: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	w := new(written)
	_ = newStream(w).write(opHello, 1, pack(hello{"x"}))
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := newStream(conn{in: bytes.NewReader(raw)})
		for {
			m, err := s.read()
			if err != nil {
				return
			}
			for _, to := range []any{new(hello), new(callRequest), new(runRequest), new(answer), new(question), new(failed), new(listing), new(Welcome)} {
				_ = unpack(m.body, to)
			}
		}
	})
}
