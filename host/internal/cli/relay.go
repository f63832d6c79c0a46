package cli

import (
	"context"
	"errors"
	"io"
)

// relay serves the client on stdin and stdout with the host that another process
// runs. When that ends it goes on with the next one, or with one of this process, which
// own serves streams with. It reports false when there is none, and nothing was read.
func (f *Factory) relay(ctx context.Context, own stdioServer) (bool, error) {
	h, first := f.reachStdio(ctx)
	if h == nil {
		return false, nil
	}
	f.tell(h.Problems())
	in, done := f.Streams.Waiting()
	defer done()
	var ended chan error // of the one of this process, once there is one
	p := &passage{out: f.Streams.Out, next: func(ctx context.Context) (link, error) {
		if ended != nil {
			return nil, errOwnEnded
		}
		pid := h.Welcome.Pid
		h.Close()
		var next link
		if h, next = f.reachStdio(ctx); h != nil {
			f.Streams.Note("collet: the running host (pid %d) ended; going on with another, pid %d", pid, h.Welcome.Pid)
			return next, nil
		}
		f.Streams.Note("collet: the running host (pid %d) ended; going on with one of this process", pid)
		here, there := newPipes()
		ended = make(chan error, 1)
		go func() {
			err := own(ctx, there, there)
			there.Close()
			ended <- err
		}()
		return here, nil
	}}
	err := p.run(ctx, first, in)
	if ended != nil {
		if own := <-ended; own != nil || errors.Is(err, errOwnEnded) {
			err = own
		}
		return true, err
	}
	pid := h.Welcome.Pid
	h.Close()
	if errors.Is(err, errMidway) {
		err = exitf(exitUnreachable, "the running host (pid %d) is gone: %v; start this again", pid, err)
	}
	return true, err
}

var errOwnEnded = errors.New("the host of this process has ended")

// reachStdio connects to the MCP face of the host that another process runs; nil when
// there is none.
func (f *Factory) reachStdio(ctx context.Context) (*remote, link) {
	if f.homeless != nil || !f.shares {
		return nil, nil
	}
	layers, err := f.quietly(ctx)
	if err != nil {
		return nil, nil // whoever opens the host tells
	}
	h, ok := f.running(ctx, layers).(*remote)
	if !ok {
		return nil, nil
	}
	conn, err := h.Stdio(ctx)
	if err != nil {
		_ = h.Close()
		return nil, nil
	}
	return h, conn.(link)
}

var _ link = (*pipes)(nil)

// pipes are one end of a connection within this process.
type pipes struct {
	*io.PipeReader
	*io.PipeWriter
}

func newPipes() (a, b *pipes) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return &pipes{ar, aw}, &pipes{br, bw}
}

// Close ends both directions.
func (p *pipes) Close() error { return errors.Join(p.PipeReader.Close(), p.PipeWriter.Close()) }

// CloseWrite ends what this end says.
func (p *pipes) CloseWrite() error { return p.PipeWriter.Close() }
