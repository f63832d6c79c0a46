package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// maxAnswer bounds an answer: ten results with long excerpts are far below.
	maxAnswer = 4 << 20
	// maxQuoted bounds how much of a service's own words an error repeats.
	maxQuoted = 200
	// maxWait bounds what a service may ask us to wait: more is a mistake or a joke.
	maxWait = 31 * 24 * time.Hour
)

// exchange is one request to a service and how its errors are read.
type exchange struct {
	name   string
	client *http.Client
	// read turns a status of 400 and up into an error; nil leaves all to byStatus.
	read func(status int, header http.Header, body []byte) *Error
	// heard, when set, is given the header of every answer.
	heard func(http.Header)
}

// get sends a GET; query belongs to the URL of the service.
func (x exchange) get(ctx context.Context, to string, query url.Values, header http.Header) ([]byte, *Error) {
	return x.send(ctx, http.MethodGet, to+"?"+query.Encode(), nil, header)
}

// post sends body as JSON.
func (x exchange) post(ctx context.Context, to string, body any, header http.Header) ([]byte, *Error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, x.broken(failure.InvalidArguments, failure.NotSent, 0, "the query cannot be written as JSON: %v", err)
	}
	header.Set("Content-Type", "application/json")
	return x.send(ctx, http.MethodPost, to, &buf, header)
}

func (x exchange) send(ctx context.Context, method, to string, body io.Reader, header http.Header) ([]byte, *Error) {
	req, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return nil, x.broken(failure.InvalidArguments, failure.NotSent, 0, "%s: the address of the service is no URL", x.name)
	}
	req.Header = header
	req.Header.Set("Accept", "application/json")
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, x.unreachable(err)
	}
	defer resp.Body.Close()
	if x.heard != nil {
		x.heard(resp.Header)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		e := x.unreachable(err)
		if e.Failure.Class == failure.Unknown { // cut off
			e.Failure.Class, e.Failure.Delivery = failure.InvalidResult, failure.Answered
			e.Failure.Message = x.name + ": the answer breaks off"
		}
		return nil, e
	}
	switch {
	case resp.StatusCode >= 400:
		e := x.refusal(resp, raw)
		if e.Failure.Class == failure.AuthFailure {
			e.Failure.Challenge = resp.Header.Get("WWW-Authenticate")
		}
		return nil, e
	case resp.StatusCode >= 300:
		return nil, x.broken(failure.InvalidResult, failure.Answered, resp.StatusCode, "%s answers with a redirect, which a search service does not do: check its address", x.name)
	case len(raw) > maxAnswer:
		return nil, x.broken(failure.InvalidResult, failure.Answered, resp.StatusCode, "%s: the answer is larger than %d MiB", x.name, maxAnswer>>20)
	case !gjson.ValidBytes(raw) || !gjson.ParseBytes(raw).IsObject():
		return nil, x.broken(failure.InvalidResult, failure.Answered, resp.StatusCode, "%s: the answer is not a JSON object: %s", x.name, quote(string(raw)))
	case isError(raw):
		if x.read != nil {
			if e := x.read(resp.StatusCode, resp.Header, raw); e != nil {
				return nil, e
			}
		}
		return nil, x.broken(failure.ServerError, failure.Answered, resp.StatusCode, "%s answers with an error in place of results%s", x.name, said(wordsOf(raw)))
	}
	return raw, nil
}

// refusal is what a status of 400 and up means.
func (x exchange) refusal(resp *http.Response, raw []byte) *Error {
	if x.read != nil {
		if e := x.read(resp.StatusCode, resp.Header, raw); e != nil {
			return e
		}
	}
	return x.byStatus(resp.StatusCode, resp.Header, raw)
}

// isError says whether an answer that counts as a success is an error: else it would
// be a search that found nothing.
func isError(raw []byte) bool {
	e := gjson.GetBytes(raw, "error")
	return e.IsObject() || e.String() != "" || gjson.GetBytes(raw, "errors.0").Exists()
}

// unreachable is a request that got no whole answer.
func (x exchange) unreachable(err error) *Error {
	f := *failure.Classify(err)
	f.Origin, f.Message = failure.OriginUpstream, x.name+": "+f.Message
	return &Error{Reason: Broken, Failure: &f}
}

func (x exchange) broken(class failure.Class, delivery failure.Delivery, status int, format string, args ...any) *Error {
	return x.refused(Broken, class, delivery, status, 0, format, args...)
}

func (x exchange) refused(reason Reason, class failure.Class, delivery failure.Delivery, status int, reset time.Duration, format string, args ...any) *Error {
	f := failure.New(class, delivery, format, args...)
	f.Origin, f.UpstreamCode = failure.OriginUpstream, status
	if reason == Busy {
		f.RetryAfter = reset
	}
	return &Error{Reason: reason, Failure: f, Reset: reset}
}

// The errors that all services share.

func (x exchange) busy(status int, reset time.Duration, words string) *Error {
	return x.refused(Busy, failure.RateLimited, failure.Answered, status, reset, "%s: too many requests%s", x.name, said(words))
}

func (x exchange) quota(status int, reset time.Duration, words string) *Error {
	return x.refused(Quota, failure.RateLimited, failure.Answered, status, reset, "%s: the quota is used up%s", x.name, said(words))
}

func (x exchange) badKey(status int, what, words string) *Error {
	return x.refused(BadKey, failure.AuthFailure, failure.Answered, status, 0, "%s: %s%s", x.name, what, said(words))
}

func (x exchange) badQuery(status int, words string) *Error {
	return x.refused(BadQuery, failure.InvalidArguments, failure.Answered, status, 0, "%s refuses the query%s", x.name, said(words))
}

// byStatus is what a status means where a service says nothing else of it.
func (x exchange) byStatus(status int, header http.Header, body []byte) *Error {
	words := wordsOf(body)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return x.badKey(status, "the key is refused", words)
	case status == http.StatusPaymentRequired:
		return x.quota(status, retryAfter(header), words)
	case status == http.StatusTooManyRequests:
		return x.busy(status, retryAfter(header), words)
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return x.badQuery(status, words)
	}
	e := x.broken(failure.ServerError, failure.Answered, status, "%s answers %d %s%s", x.name, status, http.StatusText(status), said(words))
	e.Reset = retryAfter(header)
	return e
}

// retryAfter reads Retry-After (RFC 9110 section 10.2.3); zero when there is none.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return seconds(float64(n))
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(time.Until(t), 0), maxWait)
	}
	return 0
}

func seconds(n float64) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, maxWait.Seconds()) * float64(time.Second))
}

// wordsOf finds what a service says in the places where they say it.
func wordsOf(body []byte) string {
	if !gjson.ValidBytes(body) {
		return string(body)
	}
	for _, path := range []string{"error.detail", "error.message", "detail.error", "errors.0.detail", "message", "error", "detail"} {
		if v := gjson.GetBytes(body, path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}

func said(words string) string {
	if words = quote(words); words == "" {
		return ""
	}
	return ": " + words
}

// quote is a stranger's text as part of a sentence: one line, bounded, no markup
// of an error page.
func quote(s string) string {
	if strings.HasPrefix(strings.TrimSpace(s), "<") {
		return "(a page of HTML)"
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "..."
	}
	return s
}
