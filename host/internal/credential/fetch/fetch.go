// Package fetch is the HTTP client for what servers say of their authorization: it
// speaks https, or http with this machine, follows few redirects of metadata and
// none of anything that carries a secret, reads a bounded answer within a bounded
// time, and goes to no address further inside than the server itself is.
//
// It knows nothing of OAuth, keeps no cookies and logs nothing.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// maxBody bounds an answer, in bytes. Metadata and token responses have a few
	// thousand.
	maxBody = 256 << 10
	// maxHeader bounds an answer's header, in bytes.
	maxHeader = 64 << 10
	// maxHops bounds the redirects of one metadata document.
	maxHops = 3
	// dialTimeout bounds one connection's coming about, TLS included.
	dialTimeout = 10 * time.Second
	// getTimeout bounds one document: others are tried when one is not there.
	getTimeout = 15 * time.Second
	// postTimeout bounds one request that changes something. It is long, because a
	// refresh token whose answer nobody waited for may be lost for good.
	postTimeout = 60 * time.Second
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 30 * time.Second
)

// Client makes requests on behalf of one server.
type Client struct {
	http  *http.Client
	agent string
}

// Answer is a response that was read.
type Answer struct {
	Status     int
	Header     http.Header
	Body       []byte
	RetryAfter time.Duration // 0: the server does not say
}

// Options of a client.
type Options struct {
	// Server is the URL that the user configured. What it is decides what its
	// metadata may point to: a server on this machine may name anything but
	// link-local addresses, one in a private network may not name this machine, and
	// any other may name public addresses only.
	Server string
	CAFile string // PEM, of authorities that count besides the system's; "" is none
	Agent  string // User-Agent
	// Dial replaces the connection for tests; it is asked after the address was
	// approved.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy is http.ProxyFromEnvironment when nil.
	Proxy func(*http.Request) (*url.URL, error)
}

// New returns a client for one server. It sends nothing.
func New(o Options) (*Client, error) {
	at, err := Endpoint(o.Server)
	if err != nil {
		return nil, fmt.Errorf("the server's URL %w", err)
	}
	roots, err := authorities(o.CAFile)
	if err != nil {
		return nil, err
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	g := &guard{server: at.Hostname(), proxy: o.Proxy, dial: o.Dial}
	if g.dial == nil {
		g.dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	transport := func(dial func(context.Context, string, string) (net.Conn, error), proxy func(*http.Request) (*url.URL, error)) *http.Transport {
		return &http.Transport{
			Proxy:                  proxy,
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConnsPerHost:    2,
			MaxResponseHeaderBytes: maxHeader,
		}
	}
	g.direct = transport(g.guarded, nil)
	g.proxied = transport(g.dial, o.Proxy)
	return &Client{agent: o.Agent, http: &http.Client{Transport: g, CheckRedirect: follow}}, nil
}

// Close closes what is idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the CA file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA file %s holds no certificate in PEM format", file)
	}
	return pool, nil
}

// Endpoint checks that a URL is one to which credentials may go: https, or http on
// this machine (OAuth 2.1 section 1.5), without a password in it. The error goes
// on a sentence that names the URL.
func Endpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > maxURL || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, errors.New("is unreadable")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, fmt.Errorf("%s is neither https:// nor http://", Show(raw))
	case u.Scheme == "http" && !loopbackName(u.Hostname()):
		return nil, fmt.Errorf("%s is not https, and http is for this machine only", Show(raw))
	case u.User != nil:
		return nil, fmt.Errorf("%s has a user in it", Show(raw))
	}
	return u, nil
}

// maxURL bounds a URL in bytes.
const maxURL = 8 << 10

// Show is a URL without what may be secret in it, and short enough for a sentence.
func Show(raw string) string {
	const most = 200
	shown := "(unreadable)"
	if u, err := url.Parse(raw); err == nil {
		u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
		shown = u.String()
	}
	shown = strings.Trim(strconv.Quote(shown), `"`)
	return shown[:min(len(shown), most)]
}

func follow(r *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse // its body holds secrets
	}
	if len(via) > maxHops {
		return fmt.Errorf("it redirects more than %d times", maxHops)
	}
	if _, err := Endpoint(r.URL.String()); err != nil {
		return fmt.Errorf("it redirects to a URL that %w", err)
	}
	r.Header.Del("Referer")
	return nil
}

// Get reads a document. Any status is an answer.
func (c *Client) Get(ctx context.Context, at string) (*Answer, error) {
	return c.do(ctx, http.MethodGet, at, "", http.Header{"Accept": {"application/json"}}, getTimeout)
}

// Post sends a form or JSON, as header's Content-Type says. A redirect is an answer
// like any other and is not followed.
func (c *Client) Post(ctx context.Context, at string, header http.Header, body string) (*Answer, error) {
	return c.do(ctx, http.MethodPost, at, body, header, postTimeout)
}

func (c *Client) do(ctx context.Context, method, at, body string, header http.Header, patience time.Duration) (*Answer, error) {
	u, err := Endpoint(at)
	if err != nil {
		return nil, fmt.Errorf("the URL %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		r.GetBody = nil // net/http sends it once
	}
	r.Header = header
	r.Header.Set("User-Agent", c.agent)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, bare(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(b) > maxBody {
		err = fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	if err != nil {
		return nil, bare(err)
	}
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: b, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}, nil
}

// bare is err without the URL, which whoever asked knows and may hold a secret.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// maxRetryAfter bounds what is believed of a Retry-After.
const maxRetryAfter = time.Hour

// retryAfter reads seconds; a date says too little between two clocks.
func retryAfter(value string) time.Duration {
	s, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(s)*time.Second, maxRetryAfter)
}
