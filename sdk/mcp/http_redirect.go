package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
)

// maxHops bounds the redirects of one request.
const maxHops = 3

// roundTrip sends one HTTP request; o is its body or nil. It follows 307 and 308
// within the origin, with body and header, and remembers where they led. The
// error is a *failure.Failure when the server redirects elsewhere; then nothing
// was sent there.
func (l *httpLink) roundTrip(ctx context.Context, method string, header http.Header, o *outgoing) (*http.Response, error) {
	if o != nil {
		// net/http sends a request again on its own only when nothing of it was
		// written, so the first connection tells.
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { l.out.begin(o) },
		})
	}
	if l.authorize == nil && l.reauthorize == nil {
		return l.send(ctx, method, header, o)
	}
	return l.sendAuthorized(ctx, method, header, o)
}

// send is one request with the redirects that it is answered with.
func (l *httpLink) send(ctx context.Context, method string, header http.Header, o *outgoing) (*http.Response, error) {
	var body []byte
	if o != nil {
		body = bytes.TrimSuffix(o.message, []byte("\n"))
	}
	at := l.url.Load()
	for hop := 0; ; hop++ {
		r := l.template.WithContext(ctx)
		r.Method, r.URL, r.Host, r.Header = method, at, at.Host, header
		if o != nil {
			r.ContentLength = int64(len(body))
			// Of these types net/http knows that header and body fit in one write.
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
		resp, err := l.transport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if !isRedirect(resp) {
			if hop > 0 && resp.StatusCode < 400 {
				l.url.Store(at)
			}
			return resp, nil
		}
		discard(resp)
		next, f := redirected(at, resp, hop)
		if f != nil {
			return nil, f
		}
		at = next
	}
}

func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirected says where a redirect leads. Only 307 and 308 keep the method and
// the body (RFC 9110 section 15.4), and only the origin itself may see what the
// header holds.
func redirected(from *url.URL, resp *http.Response, hop int) (*url.URL, *failure.Failure) {
	refuse := func(format string, args ...any) (*url.URL, *failure.Failure) {
		f := failure.New(failure.ServerError, failure.NotSent, format, args...)
		f.Origin, f.UpstreamCode, f.Target = failure.OriginUpstream, resp.StatusCode, from.Host
		return nil, f
	}
	location := resp.Header.Get("Location")
	to, err := from.Parse(location)
	if err != nil || location == "" {
		return refuse("the server redirects (%s) to no readable URL", showStatus(resp))
	}
	to.Fragment, to.RawFragment = "", ""
	shown := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	switch {
	case resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect:
		return refuse("the server redirects (%s) to %s in a way that would lose the request; put that URL into the configuration", showStatus(resp), shown)
	case !sameOrigin(from, to):
		return refuse("the server redirects (%s) to another origin, %s, to which nothing was sent; if that is right, put that URL into the configuration", showStatus(resp), shown)
	case hop >= maxHops:
		return refuse("the server redirects (%s) more than %d times, at last to %s", showStatus(resp), maxHops, shown)
	}
	to.User = nil
	return to, nil
}

// sameOrigin says whether what is meant for one URL may go to another: scheme,
// host and port agree, or http becomes https on the ports they have by default.
func sameOrigin(from, to *url.URL) bool {
	if from.Hostname() == "" || !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return port(from) == port(to)
	}
	return from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "http":
		return "80"
	default:
		return "443"
	}
}
