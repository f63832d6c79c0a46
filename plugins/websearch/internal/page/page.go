// Package page fetches one page of the web and makes text of it that is good to
// read. How long, how much and what kind is bounded here; where it may come from is
// the client's business (package guard). It runs no scripts, loads nothing that a
// page refers to, and follows no links.
package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/collet-dev/collet/plugins/websearch/internal/guard"
	"github.com/collet-dev/collet/plugins/websearch/internal/plaintext"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// MaxBody bounds what is read of a page, unpacked: beyond are data, not pages.
	MaxBody = 3 << 20
	// timeout bounds a fetch where the call's own deadline is later.
	timeout = 20 * time.Second
	// maxURL is longer than any URL that servers take.
	maxURL = 8000
	// agent says who asks, as RFC 9110 section 10.1.5 wishes.
	agent = "collet-websearch (+https://github.com/collet-dev/collet)"
)

// Page is what was fetched.
type Page struct {
	URL         string    `json:"url" jsonschema:"where it was found, after redirects"`
	Title       string    `json:"title,omitempty"`
	Byline      string    `json:"byline,omitempty"`
	SiteName    string    `json:"site_name,omitempty"`
	PublishedAt string    `json:"published_at,omitempty" jsonschema:"RFC 3339, where the page says so"`
	ContentType string    `json:"content_type"`
	Text        string    `json:"text" jsonschema:"Markdown of the readable part of an HTML page; anything else as it is"`
	Truncated   bool      `json:"truncated" jsonschema:"the page goes on after text"`
	FetchedAt   time.Time `json:"fetched_at"`
}

// Fetch gets a page and at most maxChars characters of its text. An error that is a
// *failure.Failure says that there was no answer; any other, that the page answered
// with something that cannot be read.
func Fetch(ctx context.Context, client *http.Client, raw string, maxChars int) (*Page, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || len(raw) > maxURL {
		return nil, refused("this is no URL")
	}
	if err := guard.CheckURL(u); err != nil {
		return nil, refused(err.Error())
	}
	u.Fragment, u.RawFragment = "", ""
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, refused("this is no URL")
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1")
	resp, err := client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Body.Close()
	if err := statusError(resp); err != nil {
		return nil, err
	}
	kind, err := kindOf(resp.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	// One byte more than is wanted tells whether there is more.
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return nil, brokenOff(err)
	}
	p := &Page{URL: resp.Request.URL.String(), ContentType: kind, FetchedAt: time.Now().UTC().Truncate(time.Second)}
	if len(body) > MaxBody {
		body, p.Truncated = whole(body[:MaxBody]), true
	}
	if kind == "" {
		p.ContentType, _, _ = mime.ParseMediaType(http.DetectContentType(body))
		if kind, err = kindOf(p.ContentType); err != nil {
			return nil, err
		}
	}
	text, err := decoded(body, resp.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("the page cannot be read: %w", err)
	}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		if err := p.read(text, resp.Request.URL); err != nil {
			return nil, err
		}
	} else {
		p.Text = text
	}
	if cut, more := first(p.Text, maxChars); more {
		p.Text, p.Truncated = cut, true
	}
	return p, nil
}

// decoded is the text of a page in the encoding that its header names, else in
// UTF-8 when that is what it is, else in the one that its beginning names or that
// browsers assume.
func decoded(body []byte, contentType string) (string, error) {
	enc, _, certain := charset.DetermineEncoding(body, contentType)
	if !certain && utf8.Valid(body) {
		return string(body), nil
	}
	text, err := enc.NewDecoder().Bytes(body)
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// whole is body without the part of a character in UTF-8 at its end.
func whole(body []byte) []byte {
	for i := 1; i < utf8.UTFMax; i++ {
		if tail := body[len(body)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return body[:len(body)-i]
			}
			break
		}
	}
	return body
}

// kindOf is the media type where it is one that can be read; "" when there is none.
func kindOf(contentType string) (string, error) {
	if contentType == "" {
		return "", nil
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return "", fmt.Errorf("the page has the media type %q, which is none", plaintext.Of(contentType, 100))
	}
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"),
		kind == "application/json", kind == "application/xml", kind == "application/yaml", kind == "application/toml":
		return kind, nil
	}
	return "", fmt.Errorf("the page is %s, which is not text: only HTML, plain text, Markdown, JSON, XML and the like are read", plaintext.Of(kind, 100))
}

// first is at most n characters of s.
func first(s string, n int) (string, bool) {
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

// statusError is what a status other than success means.
func statusError(resp *http.Response) error {
	code := resp.StatusCode
	switch {
	case code < 300:
		return nil
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		f := answered(failure.RateLimited, code)
		f.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		if f.RetryAfter > 0 {
			f.Message += fmt.Sprintf("; try again in %s", f.RetryAfter)
		} else {
			f.Message += "; it does not say for how long: wait a minute before you try it again, or read another page"
		}
		return f
	case code >= 500:
		return answered(failure.ServerError, code)
	}
	return fmt.Errorf("the page answers %d %s", code, http.StatusText(code))
}

// maxRetryAfter bounds what is believed of a Retry-After.
const maxRetryAfter = 24 * time.Hour

// retryAfter is what a Retry-After says, in seconds or as a date (RFC 9110 section
// 10.2.3); 0 when it says nothing that can be waited for.
func retryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now).Round(time.Second)
	}
	return min(max(wait, 0), maxRetryAfter)
}

func answered(class failure.Class, code int) *failure.Failure {
	f := failure.New(class, failure.Answered, "the page answers %d %s", code, http.StatusText(code))
	f.Origin, f.UpstreamCode = failure.OriginUpstream, code
	return f
}

func refused(why string) *failure.Failure {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "not fetched: %s", why)
	f.Problems = []failure.Problem{{Path: "/url", Rule: "format", Message: why}}
	return f
}

// brokenOff is an answer that did not come to its end.
func brokenOff(err error) error {
	f := *failure.Classify(err)
	if f.Class == failure.Unknown { // no deadline, no reset: cut off, or not what it is packed as
		f = *failure.New(failure.InvalidResult, failure.Answered, "the page breaks off: %w", err)
	} else {
		f.Message = "fetch the page: " + f.Message
	}
	f.Origin = failure.OriginUpstream
	return &f
}

func unreachable(err error) error {
	if b := guard.AsBlocked(err); b != nil {
		return refused(b.Why)
	}
	f := *failure.Classify(err)
	f.Origin, f.Message = failure.OriginUpstream, "fetch the page: "+f.Message
	return &f
}
