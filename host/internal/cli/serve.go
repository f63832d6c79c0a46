package cli

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/front/control"
	"github.com/collet-dev/collet/host/internal/pace"
)

// drainWait is how long answers in flight are waited for at the end.
const drainWait = 5 * time.Second

// frontend is a host's MCP face over stdio.
type frontend interface {
	ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error
	Close(ctx context.Context) error
}

type serveOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	// Relay serves the client with a host that another process runs, and with own where
	// there is none, or none any more.
	Relay   func(ctx context.Context, own ownServer) error
	Share   func(ctx context.Context, h openHost, stdio stdioServer, stoppable bool) *sharing
	ShareAt func(ctx context.Context, owner *control.Owner, h openHost, stdio stdioServer, stoppable bool) *sharing
	Stdio   bool
	Address string
	HTTP    host.HTTPOptions
}

func newCmdServe(f *Factory, runF func(context.Context, *serveOptions) error) *cobra.Command {
	opts := &serveOptions{Streams: f.Streams, Host: f.openServing, Relay: f.relay, Share: f.share, ShareAt: f.shareAt}
	cmd := &cobra.Command{
		Use:   "serve [--stdio | --http ADDR]",
		Short: "Serve all tools as one MCP server",
		Long: `Serve puts every configured server behind one MCP server: over stdin and stdout for
a client that starts it, or over HTTP at http://ADDR/mcp.

A client's list has the tools of exposure direct. For the others it has tool_search,
tool_call, and codemode, which runs scripts.

Over HTTP, without credentials, it listens on the loopback interface only. With
--token-file, --scoped-token-file or --issuer every request needs a bearer token,
and any address will do. /healthz says that collet runs, /readyz that every server
has had its first start.`,
		Example: "  collet serve\n  collet serve --http 127.0.0.1:8080\n  collet serve --http :8080 --token-file ~/.config/collet/tokens",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Stdio && opts.Address != "" {
				return usagef("--stdio and --http exclude each other")
			}
			if opts.Address == "" {
				for _, name := range httpFlags {
					if cmd.Flags().Changed(name) {
						return usagef("--%s needs --http", name)
					}
				}
			}
			if (opts.HTTP.Issuer == "") != (len(opts.HTTP.Audiences) == 0) {
				return usagef("--issuer and --audience need each other: a token that was made for something else must not count here")
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return serveRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.Stdio, "stdio", false, "serve one client over stdin and stdout (the default)")
	flags.StringVar(&opts.Address, "http", "", "serve HTTP on this `ADDR`ess, host:port; without credentials on the loopback interface only")
	flags.BoolVar(&opts.HTTP.SSE, "sse", false, "serve the HTTP+SSE transport of 2024-11-05 too, at /sse")
	flags.StringVar(&opts.HTTP.TokenFile, "token-file", "", "`FILE` of bearer tokens, one a line, for clients that may use everything")
	flags.StringVar(&opts.HTTP.ScopedTokenFile, "scoped-token-file", "", "TOML `FILE` of hashes of bearer tokens, with what each may use")
	flags.StringVar(&opts.HTTP.Issuer, "issuer", "", "`URL` of an OpenID Connect issuer whose tokens are accepted")
	flags.StringSliceVar(&opts.HTTP.Audiences, "audience", nil, "the audience that an issuer's tokens must have; usually the URL of this endpoint")
	flags.StringSliceVar(&opts.HTTP.Hosts, "allow-host", nil, "a further `HOST` name that this server goes by, for instance behind a proxy")
	flags.StringSliceVar(&opts.HTTP.Origins, "allow-origin", nil, "an `ORIGIN` of web pages that may use this server")
	return cmd
}

// httpFlags mean nothing without --http.
var httpFlags = []string{"sse", "token-file", "scoped-token-file", "issuer", "audience", "allow-host", "allow-origin"}

func serveRun(ctx context.Context, opts *serveOptions) error {
	if opts.Address == "" {
		return opts.Relay(ctx, func(ctx context.Context, owner *control.Owner, in io.Reader, out io.Writer) error {
			return serveOwn(ctx, opts, owner, in, out)
		})
	}
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	defer paced(h)()
	return serveHTTP(ctx, opts, h)
}

// serveOwn serves a client with a host of this process, which others share when owner
// has the place for that.
func serveOwn(ctx context.Context, opts *serveOptions, owner *control.Owner, in io.Reader, out io.Writer) error {
	h, err := opts.Host(ctx)
	if err != nil {
		if owner != nil {
			owner.Release()
		}
		return err
	}
	defer h.Close()
	defer paced(h)()
	front := h.Front()
	shared := opts.ShareAt(ctx, owner, h, front.ServeStdio, false)
	defer shared.close()
	end := sync.OnceFunc(func() { shared.finish(ctx, drainWait, front) })
	defer end()
	defer context.AfterFunc(ctx, end)()
	// Not ctx, which would cancel what is being answered: end lets it finish.
	if err := front.ServeStdio(context.WithoutCancel(ctx), in, out); ctx.Err() == nil {
		shared.linger(ctx) // its own client has gone, others may be here
		if terminal.ReaderGone(err) {
			return nil
		}
		return err
	}
	return nil // to be stopped is how serving ends
}

// paced keeps this process on one processor while its calls come one after the other,
// until stop.
func paced(h openHost) (stop func()) {
	p := pace.New()
	unsubscribe := h.Subscribe(func(e host.Event) {
		switch {
		case e.CallStarted != nil:
			p.Begin()
		case e.CallFinished != nil:
			p.End()
		case e.ServerChanged != nil: // starts go side by side
			p.Burst()
		}
	})
	return func() {
		unsubscribe()
		p.Close()
	}
}

// closeFace ends what is being served.
func closeFace(ctx context.Context, face interface{ Close(context.Context) error }) {
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
	defer cancel()
	_ = face.Close(drain) // what is left was told so
}
