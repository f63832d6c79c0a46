package cli

import (
	"context"
	"net"

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
	opts.Streams.Note("collet: serving http://%s/mcp", l.Addr())
	return face.Serve(ctx, l)
}

var _ endpoint = (*host.HTTPFace)(nil)
