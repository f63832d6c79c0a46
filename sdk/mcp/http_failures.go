package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/sdk/failure"
)

// Over HTTP, to the table of failures.go:
//
//	no connection came about           as package failure classifies it; NotSent
//	the connection broke, 502          ConnectionRefused; NotSent when the request was not
//	                                   sent whole, else DeliveryUnknown
//	504, 408                           Timeout, DeliveryUnknown
//	401, 403                           AuthFailure with the challenge, Answered
//	429, 503                           RateLimited with Retry-After, Answered
//	a redirect that is not followed    ServerError, NotSent
//	any other status                   ServerError, Answered; with a JSON-RPC error in the body
//	                                   that error
//
// UpstreamCode is the HTTP status where there is no JSON-RPC error.

// wireFailure is a request or an answer that HTTP lost.
func (l *httpLink) wireFailure(err error, delivery failure.Delivery) *failure.Failure {
	if f, ok := errors.AsType[*failure.Failure](err); ok {
		return f
	}
	f := failure.Classify(err)
	if delivery == failure.NotSent {
		f.Delivery = failure.NotSent
	}
	if f.Class == failure.Unknown {
		f.Class = failure.ConnectionRefused
	}
	if f.Target == "" {
		f.Target = l.url.Load().Host
	}
	f.Origin = failure.OriginUpstream
	switch text, ok := tlsFault(err); {
	case ok:
		f.Delivery = failure.NotSent // the request follows the handshake
		f.Message = "connect to " + l.where() + ": " + text
	case brokeWriting(err):
		f.Delivery = failure.NotSent // it lacks its end, and a part of a message is none
		f.Message = "the connection to " + l.where() + " broke while the request was sent: " + f.Message
	case f.Class == failure.Timeout && f.Delivery == failure.NotSent:
		f.Message = "connect to " + l.where() + ": no connection in time"
	case f.Delivery == failure.NotSent:
		f.Message = "connect to " + l.where() + ": " + f.Message
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Message = "the server closed the connection before its answer was complete"
	default:
		f.Message = "the connection to the server broke: " + f.Message
	}
	return f
}

// brokeWriting says whether a request could not be written to its end: the system
// found the connection closed, as a server leaves it that is stopped.
func brokeWriting(err error) bool {
	for op := (*net.OpError)(nil); errors.As(err, &op); err = op.Err {
		if op.Op == "write" && !op.Timeout() {
			return true
		}
	}
	return false
}

// where is the server's URL without what may be secret in it.
func (l *httpLink) where() string {
	u := l.url.Load()
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// dialFailure words a failure to connect, and says where to unless f does.
func (l *httpLink) dialFailure(f *failure.Failure) *failure.Failure {
	g := *f
	if g.Delivery != failure.Answered {
		g.Delivery = failure.NotSent // no tool was called
	}
	if g.Class != failure.Canceled && (g.Target == "" || g.UpstreamCode != 0) {
		g.Message = "connect to " + l.where() + ": " + g.Message
	}
	return &g
}

// tlsFault says what is wrong with a server's certificate, or with its TLS.
func tlsFault(err error) (string, bool) {
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("its certificate is signed by an unknown authority (%s); ca_file can name one to trust", issuer(e.Cert)), true
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("its certificate is for another name: it is valid for %s, not for %s", names(e.Certificate), e.Host), true
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if e.Reason == x509.Expired {
			return fmt.Sprintf("its certificate has expired or is not yet valid: it is valid from %s to %s",
				e.Cert.NotBefore.Format(time.DateTime), e.Cert.NotAfter.Format(time.DateTime)), true
		}
		return "its certificate is invalid: " + e.Error(), true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS on this port; is it http:// that is meant?", true
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e.Error(), true
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return "the server refused TLS: " + e.Error(), true
	}
	return "", false
}

func issuer(c *x509.Certificate) string {
	if c == nil {
		return "unnamed"
	}
	return strconv.Quote(c.Issuer.String())
}

func names(c *x509.Certificate) string {
	all := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return strings.Join(all[:min(len(all), 5)], ", ")
}

// refused reads a response whose status says that the request was not served.
func (x *exchange) refused(resp *http.Response) (*failure.Failure, func(context.Context) *failure.Failure) {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := errorIn(b)
	id, ok := parseID(e.id)
	own := ok && id == x.call.id
	f := x.l.statusFailure(x.r.method, resp, b, e)
	if x.r.method == "initialize" {
		x.l.mu.Lock()
		x.l.status = resp.StatusCode
		x.l.mu.Unlock()
	}
	return f, x.retry(resp.StatusCode, f, own)
}

// errorIn finds the JSON-RPC error in a body, if it is one.
func errorIn(b []byte) envelope {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' || !utf8.Valid(b) {
		return envelope{}
	}
	e, _, err := scanEnvelope(b, i)
	if err != nil || !isObject(e.err) || e.repeated != "" {
		return envelope{}
	}
	return e
}

// statusFailure is the failure that a response stands for.
func (l *httpLink) statusFailure(method string, resp *http.Response, body []byte, e envelope) *failure.Failure {
	status := resp.StatusCode
	f := failure.New(failure.ServerError, failure.Answered, "the server answered %s with status %s", method, showStatus(resp))
	f.Origin, f.UpstreamCode, f.Target = failure.OriginUpstream, status, l.url.Load().Host
	if text := readable(resp, body); text != "" {
		f.Message += ": " + text
	}
	if e.err != nil {
		reported := rpcFailure(e.err)
		if status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			return reported
		}
		f.Message = reported.Message
		f.UpstreamData = reported.UpstreamData
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Class = failure.AuthFailure
		f.Challenge = strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")
		if e.err == nil {
			f.Message = authMessage(resp, f.Challenge, f.Message)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.Class = failure.RateLimited
		f.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		if f.RetryAfter > 0 {
			f.Message += fmt.Sprintf("; it asks to come back in %s", f.RetryAfter.Round(time.Second))
		}
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		f.Class, f.Delivery = failure.Timeout, failure.DeliveryUnknown
	case http.StatusBadGateway:
		f.Class, f.Delivery = failure.ConnectionRefused, failure.DeliveryUnknown
	}
	return f
}

func showStatus(resp *http.Response) string {
	if text := http.StatusText(resp.StatusCode); text != "" {
		return strconv.Itoa(resp.StatusCode) + " " + text
	}
	return strconv.Itoa(resp.StatusCode)
}

// readable is an excerpt of a body for a person, "" when it says nothing.
func readable(resp *http.Response, body []byte) string {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || strings.EqualFold(string(body), http.StatusText(resp.StatusCode)) {
		return ""
	}
	return quote(body)
}

// authMessage says in words what a challenge asks for.
func authMessage(resp *http.Response, challenge, otherwise string) string {
	if resp.StatusCode == http.StatusForbidden && challenge == "" {
		return otherwise
	}
	what := "the server wants credentials"
	if resp.StatusCode == http.StatusForbidden {
		what = "the credentials are not enough for the server"
	}
	if text := parameter(challenge, "error_description"); text != "" {
		what += ": " + text
	} else if code := parameter(challenge, "error"); code != "" {
		what += ": " + code
	}
	if scope := parameter(challenge, "scope"); scope != "" {
		what += " (scope: " + scope + ")"
	}
	return what + " (" + showStatus(resp) + ")"
}

// parameter returns a parameter of a challenge (RFC 9110 section 11.2), cut to
// what fits into a sentence; "" when it has none.
func parameter(challenge, name string) string {
	for rest := challenge; ; {
		i := indexFold(rest, name)
		if i < 0 {
			return ""
		}
		before, after := rest[:i], strings.TrimLeft(rest[i+len(name):], " \t")
		rest = rest[i+len(name):]
		value, ok := strings.CutPrefix(after, "=")
		if !ok || before != "" && !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, ",") {
			continue
		}
		value = strings.TrimLeft(value, " \t")
		if quoted, ok := strings.CutPrefix(value, `"`); ok {
			value, _, _ = strings.Cut(quoted, `"`)
		} else {
			value, _, _ = strings.Cut(value, ",")
		}
		return strings.Trim(quote([]byte(strings.TrimSpace(value))), `"`)
	}
}

func indexFold(s, name string) int {
	for i := 0; i+len(name) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(name)], name) {
			return i
		}
	}
	return -1
}

// maxRetryAfter bounds what is believed of a Retry-After.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header of that name: seconds or a date (RFC 9110 section
// 10.2.3). 0 is none.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if s, err := strconv.ParseUint(value, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return min(max(time.Duration(s)*time.Second, time.Millisecond), maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	// Now is as good a time as any after the date.
	return min(max(at.Sub(now), time.Millisecond), maxRetryAfter)
}
