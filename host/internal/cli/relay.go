package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/collet-dev/collet/host/internal/front/control"
)

// ownServer serves a client of MCP with a host of this process, and others besides when
// owner has the place for that; nil is none.
type ownServer func(ctx context.Context, owner *control.Owner, in io.Reader, out io.Writer) error

// relay serves the client on stdin and stdout with the host that another process
// runs. When that ends it goes on with the next one. Where there is none it is own that
// serves the client.
func (f *Factory) relay(ctx context.Context, own ownServer) error {
	h, first, owner := f.join(ctx, dialWait)
	in, done := f.Streams.Waiting()
	defer done()
	if h == nil {
		return own(ctx, owner, in, f.Streams.Direct())
	}
	f.tell(h.Problems())
	var ended chan error // of the one of this process, once there is one
	p := &passage{out: f.Streams.Out, next: func(ctx context.Context) (link, error) {
		if ended != nil {
			return nil, errOwnEnded
		}
		pid := h.Welcome.Pid
		h.Close()
		var next link
		if h, next, owner = f.join(ctx, joinWait); h != nil {
			f.Streams.Note("collet: the running host (pid %d) ended; going on with another, pid %d", pid, h.Welcome.Pid)
			return next, nil
		}
		f.Streams.Note("collet: the running host (pid %d) ended; going on with one of this process", pid)
		here, there := newPipes()
		ended = make(chan error, 1)
		go func() {
			err := own(ctx, owner, there, there)
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
		return err
	}
	pid := h.Welcome.Pid
	h.Close()
	if errors.Is(err, errMidway) {
		err = exitf(exitUnreachable, "the running host (pid %d) is gone: %v; start this again", pid, err)
	}
	return err
}

// joinWait is how long a client whose host has ended waits for the one that takes its
// place. Tests give it longer, which run on machines that have more to do.
var joinWait = 3 * time.Second

// join connects to the MCP face of the host that another process runs, or takes the
// place for one of this process. Of many processes that join at once one gets the place,
// and the others come to it. It is neither when nobody has the place but cannot be had,
// or when who has it does not answer within limit.
func (f *Factory) join(ctx context.Context, limit time.Duration) (*remote, link, *control.Owner) {
	if f.homeless != nil || !f.shares {
		return nil, nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if h, l := f.reachStdio(ctx); h != nil {
			return h, l, nil
		}
		owner, err := f.own(limited)
		if err == nil {
			return nil, nil, owner
		}
		if !errors.Is(err, control.ErrOwned) {
			return nil, nil, nil
		}
		select {
		case <-time.After(startPoll): // nothing tells that it listens
		case <-limited.Done():
			return nil, nil, nil
		}
	}
}

var errOwnEnded = errors.New("the host of this process has ended")

// reachStdio connects to the MCP face of the host that another process runs; nil when
// there is none.
func (f *Factory) reachStdio(ctx context.Context) (*remote, link) {
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
