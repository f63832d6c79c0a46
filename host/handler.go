package host

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/oidc"
	"github.com/collet-dev/collet/host/internal/front/guard/tokenfile"
)

// HTTPOptions say who may use a host over HTTP. The zero value is for this computer
// alone: no credentials, and connections over loopback only. With a token file or an
// issuer every request needs a bearer token of one of them.
type HTTPOptions struct {
	// TokenFile has bearer tokens, one a line, for clients that may use everything.
	TokenFile string
	// ScopedTokenFile is TOML: hashes of bearer tokens, with what each may use.
	ScopedTokenFile string
	// Issuer is the URL of an authorization server whose JWTs count that were made
	// for one of Audiences; the two need each other.
	Issuer    string
	Audiences []string
	// Hosts are further names that the server goes by, with a port unless that is 80
	// or 443: a proxy's, for instance.
	Hosts []string
	// Origins are the web pages that may use it ("https://app.example.com").
	Origins []string
	// SSE serves the HTTP+SSE transport of 2024-11-05 too, at /sse and /mcp/message.
	SSE bool
}

// HTTPFace is a host's whole HTTP face, as collet serve --http serves it: the
// MCP endpoint /mcp behind the checks of Host, Origin, credentials and limits,
// /healthz, /readyz, /metrics where Options.Telemetry and the configuration want
// it, and what tells clients where to get a token (RFC 9728). Make it
// with Host.Handler and close it before the host.
//
// It is an http.Handler for a server of one's own, httptest.NewServer for instance;
// a request has to have come over a connection, because Host is checked against its
// address. Listen and Serve add what a handler cannot see to by itself: bounds of
// connections, headers and the time they take.
type HTTPFace struct {
	host    *Host
	front   *Front
	handler http.Handler
	auth    bool
	done    func() // of the issuer
}

// Handler opens the host's HTTP face and begins to start the servers. An error names
// the option and what to write instead, or the file that cannot be read.
func (h *Host) Handler(opt HTTPOptions) (*HTTPFace, error) {
	g, auth, done, err := h.guard(opt)
	if err != nil {
		return nil, err
	}
	f := &HTTPFace{host: h, front: h.Front(), auth: auth, done: done}
	f.handler = h.told.Count(g.Wrap(exactly(f.endpoints(opt.SSE))), "/mcp", "/sse", "/mcp/message", "/healthz", "/readyz", metricsPath)
	return f, nil
}

// guard is what stands before the face; done is called in the end.
func (h *Host) guard(o HTTPOptions) (g *guard.Guard, auth bool, done func(), err error) {
	opt := guard.Options{Open: []string{"/healthz", "/readyz"}, Hosts: o.Hosts, Origins: o.Origins, Log: h.opt.Log, Denied: h.denied}
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
	if (o.Issuer == "") != (len(o.Audiences) == 0) {
		return nil, false, nil, errors.New("an issuer and its audiences need each other: a token that was made for something else must not count here")
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

// endpoints are the paths of the face.
func (f *HTTPFace) endpoints(sse bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", f.front.Handler())
	if sse {
		stream, message := f.front.SSE()
		mux.Handle("/sse", stream)
		mux.Handle("/mcp/message", message)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !f.front.Settled() {
			http.Error(w, "servers are starting", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	if metrics := f.host.told.Prometheus(); metrics != nil {
		mux.Handle("GET "+metricsPath, f.forEverything(metrics))
	}
	return mux
}

// exactly answers 404 where a ServeMux would redirect to a path without dots and
// repeated slashes: clients lose the body or the credential on the way.
func exactly(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p != path.Clean(p) {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (f *HTTPFace) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.handler.ServeHTTP(w, r) }

// Settled says whether every server has had its first start, however it went.
func (f *HTTPFace) Settled() bool { return f.front.Settled() }

// Listen opens address, "host:port", for Serve. Without credentials it has to be of
// the loopback interface. The listener holds a bounded number of connections.
func (f *HTTPFace) Listen(ctx context.Context, address string) (net.Listener, error) {
	return guard.Listen(ctx, address, f.auth)
}

// lastAnswers is how long answers in flight are waited for when Serve ends.
const lastAnswers = 5 * time.Second

// Serve serves connections of l, which it closes, until ctx ends. It closes the face
// then, and gives answers in flight 5 s. The error is why it ended before.
func (f *HTTPFace) Serve(ctx context.Context, l net.Listener) error {
	server := guard.Server(f, f.host.opt.Log)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		_ = f.Close(drain) // ends the streams that Shutdown would wait for; what is left was told so
		if server.Shutdown(drain) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-ended // Serve returns when Shutdown begins
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends what is being served, after the answers in flight or with ctx. It may be
// called again.
func (f *HTTPFace) Close(ctx context.Context) error {
	err := f.front.Close(ctx)
	f.done()
	return err
}
