package api

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/sdk/failure"
)

// What to do about a missing or refused key.
const (
	WithoutKey = "set config.api_key or CONTEXT7_API_KEY; a key is free at https://context7.com/dashboard"
	WithKey    = "check config.api_key or CONTEXT7_API_KEY; keys begin with ctx7sk and are made at https://context7.com/dashboard"
)

// noLibraries is the error code of a search that found nothing.
const noLibraries = "no_libraries_found"

// maxKept is how much of a body a failure carries (docs/contract.md, limits).
const maxKept = 1 << 10

// moved is a library that has another id now.
type moved struct{ code, to string }

func (m *moved) Error() string { return "the library is now " + m.to }

// indexing is a library that is not ready yet.
type indexing struct {
	code string
	wait time.Duration
}

func (i *indexing) Error() string { return "the library is being indexed" }

func (i *indexing) refusal(id string) *library.Refusal {
	return &library.Refusal{Code: i.code, Text: "Context7 is still indexing " + id + ": ask again in some minutes, or name another library"}
}

// empty is a library whose documentation has nothing to say about a query.
func empty(id string) *library.Refusal {
	return &library.Refusal{Code: "no_snippets_found", Text: "Context7 has no documentation of " + id + " for this query: word it otherwise, or name another library"}
}

// problem is the API's error object.
type problem struct{ Error, Message, RedirectURL string }

// refused is what an answer other than 200 means. The status decides; the body
// names the library's new id, and is worded for people.
func (c *Client) refused(resp *http.Response, body []byte) error {
	var p problem
	known := json.Unmarshal(body, &p) == nil && p.Error != ""
	said := cmp.Or(strings.TrimRight(p.Message, ". "), http.StatusText(resp.StatusCode))
	after := retryAfter(resp.Header, time.Now())
	fail := func(class failure.Class, advice string) error {
		f := failure.New(class, failure.Answered, "%s (HTTP %d)", said, resp.StatusCode)
		if advice != "" {
			f.Message += ": " + advice
		}
		f.Origin, f.UpstreamCode = failure.OriginUpstream, resp.StatusCode
		if len(body) <= maxKept {
			f.UpstreamData = body
		}
		return f
	}
	limited := func(advice string) error {
		f := fail(failure.RateLimited, advice).(*failure.Failure)
		f.RetryAfter = after
		c.pause(after)
		return f
	}
	switch status := resp.StatusCode; {
	case status == http.StatusAccepted:
		return &indexing{code: p.Error, wait: min(cmp.Or(after, indexingWait), maxIndexingWait)}
	case status == http.StatusMovedPermanently && newID(p.RedirectURL) != "":
		return &moved{code: p.Error, to: newID(p.RedirectURL)}
	case status == http.StatusUnauthorized:
		f := fail(failure.AuthFailure, c.keyAdvice()).(*failure.Failure)
		f.Challenge = resp.Header.Get("WWW-Authenticate")
		return f
	case status == http.StatusPaymentRequired:
		return fail(failure.RateLimited, "") // the text says who can raise the limit, and when it ends
	case status == http.StatusForbidden:
		return fail(failure.AuthFailure, "the key's plan or teamspace decides on that, see https://context7.com/dashboard")
	case status == http.StatusTooManyRequests:
		if c.key == "" {
			return limited("requests without a key have a low limit; " + WithoutKey)
		}
		return limited("a larger plan has higher limits, see https://context7.com/plans")
	case known && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity):
		return &library.Refusal{Code: p.Error, Text: said}
	case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
		return fail(failure.InvalidArguments, "")
	case status == http.StatusServiceUnavailable && after > 0:
		return limited("")
	case status == http.StatusGatewayTimeout:
		return fail(failure.Timeout, "")
	case !known:
		return fail(failure.ServerError, "the answer is not the API's own; is api_url right?")
	default:
		return fail(failure.ServerError, "")
	}
}

// mistaken is what is wrong with a 200 that is no answer: what is not the API's own,
// such as the page on which a network wants people to sign in, and an error that
// counts as a success. Else both would be documentation.
func mistaken(h http.Header, body []byte) error {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")) // what is none is not HTML
	var p problem
	var f *failure.Failure
	switch {
	case kind == "text/html":
		f = failure.New(failure.InvalidResult, failure.Answered, "the API answers with a page of HTML, which is not its own (is api_url right, or does the network want a sign-in?)")
	case json.Unmarshal(body, &p) == nil && p.Error != "":
		f = failure.New(failure.ServerError, failure.Answered, "%s (%s, although HTTP 200)", cmp.Or(strings.TrimRight(p.Message, ". "), "the API answers with an error"), p.Error)
	default:
		return nil
	}
	f.Origin, f.UpstreamCode = failure.OriginUpstream, http.StatusOK
	if len(body) <= maxKept {
		f.UpstreamData = body
	}
	return f
}

func (c *Client) keyAdvice() string {
	if c.key == "" {
		return WithoutKey
	}
	return WithKey
}

// newID is the library that a redirectUrl names, by id or by the address of its
// page; empty when it names none.
func newID(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || !strings.HasPrefix(u.Path, "/") || len(u.Path) == 1 {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

// retryAfter reads Retry-After, in seconds or as a date (RFC 9110, 10.2.3), or
// else the moment in RateLimit-Reset, which this API gives in Unix time. Zero
// when there is neither.
func retryAfter(h http.Header, now time.Time) time.Duration {
	said := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseUint(said, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(said); err == nil {
		return max(at.Sub(now), 0)
	}
	if s, err := strconv.ParseInt(strings.TrimSpace(h.Get("RateLimit-Reset")), 10, 64); err == nil && s > now.Unix() {
		return min(time.Unix(s, 0).Sub(now), maxPause)
	}
	return 0
}

// maxPause bounds what is believed of a reset: a month is the longest window.
const maxPause = 31 * 24 * time.Hour

// pause keeps requests back that would only be refused again.
func (c *Client) pause(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); until.After(c.resume) {
		c.resume = until
	}
}

func (c *Client) paused() *failure.Failure {
	c.mu.Lock()
	left := time.Until(c.resume)
	c.mu.Unlock()
	if left <= 0 {
		return nil
	}
	f := failure.New(failure.RateLimited, failure.NotSent, "the API asked for a pause, which lasts another %s", max(left.Round(time.Second), time.Second))
	if c.key == "" {
		f.Message += ": requests without a key have a low limit; " + WithoutKey
	}
	f.RetryAfter = left
	return f
}
