package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// face counts what is done with a face of a host.
type face struct{ served, closed int }

func (f *face) ServeStdio(context.Context, io.Reader, io.Writer) error { f.served++; return nil }
func (f *face) Close(context.Context) error                            { f.closed++; return nil }

// The face of a host without a client of its own is opened for the first client of
// another process, once, and never when the host is ending.
func TestLateFace(t *testing.T) {
	var opened []*face
	open := func() frontend {
		opened = append(opened, new(face))
		return opened[len(opened)-1]
	}
	late := &lateFace{open: open}
	if err := late.Close(t.Context()); err != nil || len(opened) != 0 {
		t.Errorf("%v; it was opened to be closed: %d", err, len(opened))
	}
	if err := late.ServeStdio(t.Context(), strings.NewReader(""), io.Discard); !errors.Is(err, errEnding) || len(opened) != 0 {
		t.Errorf("%v; a host that is ending serves: %d", err, len(opened))
	}
	late = &lateFace{open: open}
	for range 2 {
		if err := late.ServeStdio(t.Context(), strings.NewReader(""), io.Discard); err != nil {
			t.Error(err)
		}
	}
	if err := late.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if len(opened) != 1 || *opened[0] != (face{served: 2, closed: 1}) {
		t.Errorf("%d faces were opened; the first was %+v", len(opened), opened[0])
	}
}

// Waiting for nobody ends with the last one, or with ctx.
func TestUntilNone(t *testing.T) {
	n := 2
	untilNone(t.Context(), func() (int, <-chan struct{}) {
		n--
		changed := make(chan struct{})
		close(changed)
		return n, changed
	})
	if n != 0 {
		t.Errorf("%d are left", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	untilNone(ctx, func() (int, <-chan struct{}) { return 1, nil })
}
