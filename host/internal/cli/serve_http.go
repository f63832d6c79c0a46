package cli

import (
	"context"
	"net"
	"sync"

	"github.com/collet-dev/collet/host"
)

// endpoint is a host's HTTP face.
type endpoint interface {
	Listen(ctx context.Context, address string) (net.Listener, error)
	Serve(ctx context.Context, l net.Listener) error
	Close(ctx context.Context) error
}

func serveHTTP(ctx context.Context, opts *serveOptions, h openHost) error {
	face, err := h.Handler(opts.HTTP)
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	defer closeFace(ctx, face)
	l, err := face.Listen(ctx, opts.Address)
	if err != nil {
		return exitf(exitUsage, "%v", err)
	}
	front := &lateFace{open: h.Front}
	shared := opts.Share(ctx, h, front.ServeStdio, false)
	defer shared.close()
	end := sync.OnceFunc(func() { shared.finish(ctx, drainWait, front) })
	defer end()
	defer context.AfterFunc(ctx, end)()
	opts.Streams.Note("collet: serving http://%s/mcp", l.Addr())
	return face.Serve(ctx, l)
}

var _ endpoint = (*host.HTTPFace)(nil)
