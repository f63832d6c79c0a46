package cli

import (
	"context"
	"errors"
	"io"
	"net"
)

// relay serves the client on stdin and stdout with the host that another process
// runs. It reports false when there is none, and nothing was read.
func (f *Factory) relay(ctx context.Context) (bool, error) {
	if f.homeless != nil || !f.shares {
		return false, nil
	}
	layers, err := f.quietly(ctx)
	if err != nil {
		return false, nil // whoever opens the host tells
	}
	h, ok := f.running(ctx, layers).(*remote)
	if !ok {
		return false, nil
	}
	conn, err := h.Stdio(ctx)
	if err != nil {
		_ = h.Close()
		return false, nil
	}
	defer h.Close()
	f.tell(h.Problems())
	in, done := f.Streams.Waiting()
	defer done()
	return true, pass(ctx, conn, in, f.Streams.Out, h.Welcome.Pid)
}

// pass passes bytes on between a client and the host of another process, until
// either ends.
func pass(ctx context.Context, conn net.Conn, in io.Reader, out io.Writer, pid int) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	ended := make(chan struct{})
	// It ends with in, or with the process: nothing interrupts a read from a pipe.
	go func() {
		defer close(ended)
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err := io.Copy(out, conn)
	if ctx.Err() != nil {
		return nil // to be stopped is how serving ends
	}
	select {
	case <-ended: // the client has gone, and the host has answered what there was
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		return err
	default:
		return exitf(exitUnreachable, "the running host (pid %d) ended; start this again to go on with one of its own", pid)
	}
}
