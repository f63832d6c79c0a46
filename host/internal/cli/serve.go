package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/front/guard"
)

// drainWait is how long answers in flight are waited for at the end.
const drainWait = 5 * time.Second

// frontend is a host's MCP face.
type frontend interface {
	ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error
	Handler() http.Handler
	Close(ctx context.Context) error
}

type serveOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Stdio   bool
	Address string
}

func newCmdServe(f *Factory, runF func(context.Context, *serveOptions) error) *cobra.Command {
	opts := &serveOptions{Streams: f.Streams, Host: f.openServing}
	cmd := &cobra.Command{
		Use:   "serve [--stdio | --http ADDR]",
		Short: "Serve all tools as one MCP server",
		Long: `Serve puts every configured server behind one MCP server: over stdin and stdout for
a client that starts it, or over HTTP at http://ADDR/mcp.

A client's list has the tools of exposure direct, and tool_search and tool_call
for the others.`,
		Example: "  collet serve\n  collet serve --http 127.0.0.1:8080",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Stdio && opts.Address != "" {
				return usagef("--stdio and --http exclude each other")
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
	return cmd
}

func serveRun(ctx context.Context, opts *serveOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	front := h.Front()
	defer func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
		defer cancel()
		_ = front.Close(drain) // what is left was told so
	}()
	if opts.Address != "" {
		return serveHTTP(ctx, opts, front)
	}
	return front.ServeStdio(ctx, opts.Streams.In, opts.Streams.Out)
}

func serveHTTP(ctx context.Context, opts *serveOptions, front frontend) error {
	g, err := guard.New(guard.Options{Open: []string{"/healthz"}})
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	l, err := guard.Listen(ctx, opts.Address, false)
	if err != nil {
		return exitf(exitUsage, "%v", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", front.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	server := guard.Server(g.Wrap(mux), nil)
	opts.Streams.Note("collet: serving http://%s/mcp", l.Addr())
	stopped := context.AfterFunc(ctx, func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
		defer cancel()
		_ = front.Close(drain) // ends the streams that Shutdown would wait for
		if server.Shutdown(drain) != nil {
			_ = server.Close()
		}
	})
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
