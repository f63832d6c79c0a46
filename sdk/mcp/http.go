package mcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// dialTimeout bounds one connection's coming about, TLS included: a host that
	// drops packets must not hold what waits behind it until the call's own deadline.
	dialTimeout = 15 * time.Second
	// idleTimeout is how long an unused connection is kept, and maxIdle how many of
	// them: enough for what a host calls at a time.
	idleTimeout = 60 * time.Second
	maxIdle     = 64
	// pingAfter is how long an HTTP/2 connection may be silent before it is asked
	// whether it lives: a subscription would wait on a dead one for ever. (HTTP/1
	// has TCP's own probes.)
	pingAfter = 30 * time.Second
	// maxHeader bounds the header of a response, in bytes.
	maxHeader = 256 << 10
	// byeTimeout bounds the end of a session: nobody waits for a server that does
	// not answer DELETE.
	byeTimeout = 2 * time.Second
	// renewTimeout bounds the handshake for a session that replaces an expired one.
	renewTimeout = 30 * time.Second
)

// Endpoint says where a server is reached over HTTP.
type Endpoint struct {
	// URL is http or https and used verbatim: a slash at its end is never added
	// nor cut.
	URL string
	// Header goes with every request to the origin of URL and never beyond it.
	Header http.Header
	// Authorize, when set, gives each request the headers that are only known when
	// it is sent, a token before all; they replace those of Header. ctx is the
	// request's. An error, passed on as it is when it is a *failure.Failure with
	// delivery NotSent, keeps the request from being sent.
	Authorize func(ctx context.Context) (http.Header, error)
	// Reauthorize, when set, is asked after the server has refused a request for its
	// credential, which it has not served then: for the headers with which it is sent
	// once more, at most twice. No headers and no error let the refusal stand; an
	// error counts as that of Authorize does. It may be called from any goroutine,
	// with the request's ctx.
	Reauthorize func(ctx context.Context, refused Refusal) (http.Header, error)
	// CAFile is a PEM file of certificate authorities that count besides the
	// system's; "" is none.
	CAFile string
}

// httpLink is the link to a server over HTTP: Streamable HTTP of 2026-07-28,
// stateless, and of 2025-03-26 to 2025-11-25, with sessions that come and go
// below the client.
type httpLink struct {
	c           *Client
	session     *session
	transport   *http.Transport
	template    *http.Request // what all requests have in common
	header      http.Header
	authorize   func(context.Context) (http.Header, error)          // Endpoint.Authorize
	reauthorize func(context.Context, Refusal) (http.Header, error) // Endpoint.Reauthorize
	counts      counts
	out         *outbox
	url         atomic.Pointer[url.URL] // where the last redirect led
	tools       *paramHeaders
	// impolite counts, in a row, the streams that the server left open after their
	// answers; from maxImpolite on nobody waits for a stream's end.
	impolite atomic.Int32

	closing sync.Once
	hurry   context.Context // ends when a close has no time left
	hasten  context.CancelFunc
	gone    chan struct{}

	mu       sync.Mutex
	visit    *visit // nil before the handshake, and in the modern era
	fresh    *visit // of a handshake that is under way
	turn     int    // counts handshakes
	renewing *renewal
	closed   bool
	status   int // with which initialize was refused
}

// Dial finds out the era of a server at an HTTP URL and shakes hands with it. ctx
// bounds all of that and nothing after. A server that speaks only the HTTP+SSE
// transport of 2024-11-05 is recognised, too.
//
// Done closes with Close alone: a server that cannot be reached fails the call
// that wanted it, and the next call tries again. Over HTTP+SSE, where the stream
// is the connection, Done closes with the stream. A session that expired is
// replaced below the client, and the calls it refused run once more. The error is
// a *failure.Failure as in Start.
func Dial(ctx context.Context, at Endpoint, opt Options) (*Client, error) {
	opt = opt.withDefaults()
	if f := checkObject("the client's capabilities", opt.Capabilities); f != nil {
		return nil, f
	}
	c, l, f := open(at, opt)
	if f != nil {
		return nil, f
	}
	f = c.handshake(ctx, !opt.SkipProbe)
	if f != nil && isOldStatus(l.status) {
		old, g, isOld := dialOld(ctx, at, opt)
		if g == nil {
			l.abandon()
			return old, nil
		}
		if isOld {
			f = g
		}
	}
	if f != nil {
		l.abandon()
		return nil, l.dialFailure(f)
	}
	c.tellLevel(c.levelPending())
	c.subscribe()
	return c, nil
}

// Check says what Dial would refuse of e before it sends anything, as a
// *failure.Failure of class InvalidArguments. It reads CAFile.
func (e Endpoint) Check() error {
	if _, _, _, f := e.resolve(); f != nil {
		return f
	}
	return nil
}

// resolve turns e into what requests are made of.
func (e Endpoint) resolve() (*url.URL, http.Header, *tls.Config, *failure.Failure) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, nil, nil, badArguments("the URL of the server must be http://... or https://...")
	}
	u.Fragment, u.RawFragment = "", ""
	header := http.Header{}
	for name, values := range e.Header {
		if f := checkHeader(name, values); f != nil {
			return nil, nil, nil, f
		}
		name = http.CanonicalHeaderKey(name)
		header[name] = append(header[name], values...)
	}
	header.Del("Accept-Encoding") // net/http asks for what it can decode
	if u.User != nil && header.Get("Authorization") == "" {
		password, _ := u.User.Password()
		r := http.Request{Header: header}
		r.SetBasicAuth(u.User.Username(), password)
	}
	u.User = nil
	config, f := tlsConfig(e.CAFile)
	return u, header, config, f
}

// open prepares a client and sends nothing.
func open(at Endpoint, opt Options) (*Client, *httpLink, *failure.Failure) {
	u, header, config, f := at.resolve()
	if f != nil {
		return nil, nil, f
	}
	l := &httpLink{
		transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: dialTimeout},
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    maxIdle,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeader,
		},
		template:    &http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1},
		header:      header,
		authorize:   at.Authorize,
		reauthorize: at.Reauthorize,
		gone:        make(chan struct{}),
	}
	l.url.Store(u)
	l.hurry, l.hasten = context.WithCancel(context.Background())
	l.c = newClient(opt)
	l.c.link = l
	l.tools = &paramHeaders{}
	l.c.params = l.tools
	l.out = newOutbox(l.c.base, l.deliver)
	l.session = newSession(l.out, opt.Log, opt.OnNotification)
	l.c.session = l.session
	if opt.OnRequest != nil {
		l.session.answerWith(opt.OnRequest)
	}
	return l.c, l, nil
}

func checkHeader(name string, values []string) *failure.Failure {
	if !isToken(name) {
		return badArguments("%q is no name of an HTTP header", name)
	}
	for _, v := range values {
		if strings.ContainsAny(v, "\r\n\x00") {
			return badArguments("the value of the HTTP header %s has a line break or a NUL in it", name)
		}
	}
	return nil
}

func tlsConfig(caFile string) (*tls.Config, *failure.Failure) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, badArguments("cannot read the CA file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without one still has the file
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, badArguments("the CA file %s holds no certificate in PEM format", caFile)
	}
	config.RootCAs = pool
	return config, nil
}

// abandon ends a connection whose handshake failed.
func (l *httpLink) abandon() {
	l.hasten()
	_ = l.close(context.Background())
}

func (l *httpLink) tail() []string { return nil }

func (l *httpLink) stats() Stats { return statsOf(&l.counts, l.session) }

func (l *httpLink) close(ctx context.Context) error {
	l.closing.Do(func() { go l.shutdown() }) // gone tells its end
	select {
	case <-l.gone:
		return nil
	case <-ctx.Done():
	case <-time.After(goodbyeLimit + byeTimeout + time.Second):
	}
	l.hasten()
	select {
	case <-l.gone:
	case <-time.After(time.Second): // what goes on, if so, is the caller's own OnRequest
	}
	return nil
}

// shutdown says goodbye and waits for all that runs.
func (l *httpLink) shutdown() {
	defer close(l.gone)
	l.mu.Lock()
	l.closed = true
	last := l.visit
	l.visit = nil
	l.mu.Unlock()
	l.out.flush(l.hurry)
	l.c.end(failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "the connection to the server was closed"))
	if last != nil {
		last.bye(l)
	}
	l.hasten()
	l.c.work.Wait()
	l.out.wait()
	if a := l.session.answers; a != nil {
		a.running.Wait()
	}
	l.transport.CloseIdleConnections()
}

func (l *httpLink) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	raw, f, again := l.try(ctx, r)
	if again == nil || r.opening != "" {
		return raw, f
	}
	if g := again(ctx); g != nil {
		return nil, g
	}
	l.c.awaitLevel(ctx, r.method)
	raw, f, again = l.try(ctx, r)
	if again != nil && !l.c.Server().Modern {
		g := *f
		g.Message += "; it refused the new session, too"
		f = &g
	}
	return raw, f
}
