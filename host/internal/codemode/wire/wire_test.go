package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func written(t *testing.T, f Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFrames(t *testing.T) {
	var stream []byte
	frames := []Frame{
		{Ready, 0, nil},
		{Call, 1, []byte(`{}`)},
		{Stop, 1<<32 - 1, bytes.Repeat([]byte("x"), 64<<10)},
		{Output, 7, bytes.Repeat([]byte("y"), 64<<10+1)}, // written apart from its header
	}
	for _, f := range frames {
		stream = append(stream, written(t, f)...)
	}
	r := bytes.NewReader(stream)
	for _, want := range frames {
		got, err := Read(r, MaxFrame)
		if err != nil || got.Kind != want.Kind || got.ID != want.ID || !bytes.Equal(got.Body, want.Body) {
			t.Errorf("kind %d: %d, %d, %d bytes, %v", want.Kind, got.Kind, got.ID, len(got.Body), err)
		}
	}
	if _, err := Read(r, MaxFrame); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestFramesAreBounded(t *testing.T) {
	b := written(t, Frame{Call, 1, []byte("12345")})
	if _, err := Read(bytes.NewReader(b), 5); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	r := bytes.NewReader(b)
	if _, err := Read(r, 4); err == nil || r.Len() != 5 {
		t.Errorf("over it: %v, %d bytes left", err, r.Len())
	}
	if _, err := Read(bytes.NewReader([]byte{255, 255, 255, 255, 1, 0, 0, 0, 1}), 1<<40); err == nil {
		t.Error("a frame over MaxFrame is read")
	}
	var out bytes.Buffer
	if err := Write(&out, Frame{Call, 1, make([]byte, MaxFrame+1)}); err == nil || out.Len() > 0 {
		t.Errorf("over MaxFrame: %v, %d bytes written", err, out.Len())
	}
}

// Only between frames has the other end gone in order.
func TestTornFrames(t *testing.T) {
	b := written(t, Frame{Done, 3, []byte(`{"value":1}`)})
	for n := 1; n < len(b); n++ {
		if _, err := Read(bytes.NewReader(b[:n]), MaxFrame); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d of %d bytes: %v", n, len(b), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 2, 0, 0, 0, 1, '{', '}'})
	f.Add([]byte{255, 255, 255, 255, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 16
		got, err := Read(bytes.NewReader(b), limit)
		if err != nil {
			return
		}
		if len(got.Body) > limit {
			t.Fatalf("%d bytes", len(got.Body))
		}
		if again := written(t, got); !bytes.HasPrefix(b, again) {
			t.Fatalf("%x was read, it is %x", b, again)
		}
	})
}
