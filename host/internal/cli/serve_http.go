package cli

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/collet-dev/collet/host/internal/front/guard/tokenfile"
)

// httpOptions are those of serve --http.
type httpOptions struct {
	SSE                        bool
	TokenFile, ScopedTokenFile string
	Issuer                     string
	Audiences, Hosts, Origins  []string
}

// guard is what stands before the HTTP face; done is called in the end.
func (o *httpOptions) guard() (g *guard.Guard, auth bool, done func(), err error) {
	opt := guard.Options{Open: []string{"/healthz", "/readyz"}, Hosts: o.Hosts, Origins: o.Origins}
	done = func() {}
	for _, file := range []struct {
		path string
		read func(string) (*tokenfile.File, error)
	}{{o.TokenFile, tokenfile.Shared}, {o.ScopedTokenFile, tokenfile.Scoped}} {
		if file.path == "" {
			continue
		}
		f, err := file.read(file.path)
		if err != nil {
			return nil, false, nil, err
		}
		opt.Auth = append(opt.Auth, f)
	}
	if o.Issuer != "" {
		issuer, err := oidc.New(oidc.Options{Issuer: o.Issuer, Audiences: o.Audiences})
		if err != nil {
			return nil, false, nil, err
		}
		opt.Auth, opt.Issuers, done = append(opt.Auth, issuer), []string{o.Issuer}, issuer.Close
	}
	if g, err = guard.New(opt); err != nil {
		done()
		return nil, false, nil, err
	}
	return g, len(opt.Auth) > 0, done, nil
}

func serveHTTP(ctx context.Context, opts *serveOptions, front frontend) error {
	g, auth, done, err := opts.HTTP.guard()
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	defer done()
	l, err := guard.Listen(ctx, opts.Address, auth)
	if err != nil {
		return exitf(exitUsage, "%v", err)
	}
	server := guard.Server(g.Wrap(endpoints(front, opts.HTTP.SSE)), nil)
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

// endpoints are the paths of the HTTP face.
func endpoints(front frontend, sse bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", front.Handler())
	if sse {
		stream, message := front.SSE()
		mux.Handle("/sse", stream)
		mux.Handle("/mcp/message", message)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !front.Settled() {
			http.Error(w, "servers are starting", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return mux
}
