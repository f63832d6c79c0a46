package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// ServeStdio serves one client over a pair of streams, one message a line. It
// returns nil at the end of in, once the requests of before are answered and the
// answers read; both are bounded in time. When ctx ends, the server is closed or the
// client does not read any more, what is open is cancelled.
//
// in and out are closed where they can be, in the cases that leave a read or a write
// behind; one that goes on all the same, as of a terminal, is left behind.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.enter() {
		return errServerClosed
	}
	defer s.work.Done()
	if f, ok := in.(*os.File); ok {
		own, release := pollable(f)
		defer release()
		in = own
	}
	if f, ok := out.(*os.File); ok {
		own, release := pollable(f)
		defer release()
		out = own
	}
	broken := make(chan error, 1)
	w := newWriter(lastCloser{out}, func(err error) { broken <- err })
	if f, ok := out.(*os.File); ok {
		w.now = atOnce(f)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.run()
	}()
	base, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.base, stop)()
	c := s.newChannel(base, w, func(message []byte) []byte { return message }, Caller{})
	ended := make(chan error, 1)
	go func() { ended <- c.read(in) }()

	var err error
	select {
	case err = <-ended:
		c.drain(base)
	case err = <-broken:
		err = fmt.Errorf("write to the client: %w", err)
		closeIt(in)
	case <-ctx.Done():
		err = context.Cause(ctx)
		closeIt(in)
	case <-s.over:
		c.drain(base)
		closeIt(in)
	}
	c.leave()
	select {
	case <-written:
	case <-time.After(lastWords):
		closeIt(out)
	}
	return err
}

// read takes messages to the end of in.
func (c *channel) read(in io.Reader) error {
	lines := newLineReader(in, wire.MaxLine)
	for {
		l, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from the client: %w", err)
		case l.tail != nil:
			c.answer(refuseOversized(l))
		case skipSpace(l.data, 0) < len(l.data):
			c.out.room()
			c.receive(l.data, &c.who)
		}
	}
}

// refuseOversized answers a message over the limit, of which only the beginning is
// there.
func refuseOversized(l line) []byte {
	id := nullID
	if i := skipSpace(l.data, 0); i < len(l.data) && l.data[i] == '{' {
		if e, _, _ := scanEnvelope(l.data, i); validID(e.id) {
			id = e.id
		}
	}
	return errorResponse(id, codeInvalidRequest, fmt.Sprintf("Invalid Request: %d bytes are over the limit of %d for one message", l.size, wire.MaxLine), nil)
}

// lastCloser keeps the writer from closing what it does not own.
type lastCloser struct{ io.Writer }

func (lastCloser) Close() error { return nil }

func closeIt(stream any) {
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close()
	}
}
