package cli

import (
	"context"
	"io"
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
	front := sync.OnceValue(h.Front)
	shared := opts.Share(ctx, h, func(ctx context.Context, in io.Reader, out io.Writer) error { return front().ServeStdio(ctx, in, out) }, false)
	defer shared.close()
	opts.Streams.Note("collet: serving http://%s/mcp", l.Addr())
	return face.Serve(ctx, l)
}

var _ endpoint = (*host.HTTPFace)(nil)
