// Package chain asks search providers in order until one answers, remembers who
// must not be asked for a while, and gives every answer the same form. What it did
// is part of what it returns. It speaks to no service itself: package provider
// does.
package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/plugins/websearch/internal/provider"
	"github.com/collet-dev/collet/sdk/failure"
)

// How long a provider that does not say so itself is left alone.
const (
	busyPause = 30 * time.Second // a window of a minute is common
	// quotaPause is for a quota without a word on when it begins anew: long enough
	// to cost nothing, short enough that a plan that was raised counts the same day.
	quotaPause = time.Hour
	// keyPause is for a key that was refused: it may have been activated meanwhile.
	keyPause = 5 * time.Minute
	// leastPause is for a provider that says zero seconds.
	leastPause = time.Second
)

// The words of Attempt.Status.
const (
	StatusOK          = "ok"
	StatusRateLimited = "rate-limited"
	StatusQuota       = "quota"
	StatusBadKey      = "bad-key"
	StatusBadQuery    = "bad-query"
	StatusFailed      = "failed"
	StatusSkipped     = "skipped" // paused since an earlier search; nothing was sent
)

// Attempt is what came of asking, or not asking, one provider.
type Attempt struct {
	Provider string `json:"provider"`
	Status   string `json:"status" jsonschema:"ok, rate-limited, quota, bad-key, bad-query, failed, or skipped: not asked because of an earlier search"`
	MS       int64  `json:"ms" jsonschema:"how long it took, in milliseconds"`
	Error    string `json:"error,omitempty"`
}

// Chain is an ordered list of providers. It may be used from many goroutines.
type Chain struct {
	links []*link
	log   *slog.Logger
	now   func() time.Time
}

type link struct {
	provider.Provider
	mu    sync.Mutex
	until time.Time       // it is not asked before
	why   *provider.Error // since when it is paused
}

// New returns the chain of ps, tried in that order.
func New(ps []provider.Provider, log *slog.Logger) *Chain {
	c := &Chain{log: log, now: time.Now}
	for _, p := range ps {
		c.links = append(c.links, &link{Provider: p})
	}
	return c
}

// Names returns the providers in their order.
func (c *Chain) Names() []string {
	names := make([]string, len(c.links))
	for i, l := range c.links {
		names[i] = l.Name()
	}
	return names
}

// Search asks one provider after the other until one answers, if with nothing.
// only, when not empty, names the one to ask. The error is a *failure.Failure; it
// names every attempt.
func (c *Chain) Search(ctx context.Context, q provider.Query, only string) (*Found, error) {
	links := c.links
	if only != "" {
		i := slices.Index(c.Names(), only)
		if i < 0 {
			f := failure.New(failure.InvalidArguments, failure.NotSent, "there is no provider %q; configured: %s", only, strings.Join(c.Names(), ", "))
			f.Problems = []failure.Problem{{Path: "/provider", Rule: "enum", Message: f.Message}}
			return nil, f
		}
		links = links[i : i+1]
	}
	var attempts []Attempt
	var failed []*provider.Error
	for _, l := range links {
		began := c.now()
		a := Attempt{Provider: l.Name()}
		e := l.paused(began)
		var answer provider.Answer
		if e != nil {
			a.Status = StatusSkipped
		} else if answer, e = ask(ctx, l, q); e == nil {
			a.Status = StatusOK
		} else {
			a.Status = status(e.Reason)
			l.pause(e, c.now())
			c.log.Warn("a search provider failed", "provider", l.Name(), "status", a.Status, "error", e.Error())
		}
		a.MS = c.now().Sub(began).Milliseconds()
		if e == nil {
			return found(q, l.Name(), append(attempts, a), answer, c.now()), nil
		}
		a.Error = e.Error()
		attempts, failed = append(attempts, a), append(failed, e)
		// The next one would get the same query, or no time.
		if e.Reason == provider.BadQuery || ctx.Err() != nil {
			break
		}
	}
	return nil, whole(failed)
}

// ask is Search of one provider with the error as what it is.
func ask(ctx context.Context, p provider.Provider, q provider.Query) (provider.Answer, *provider.Error) {
	a, err := p.Search(ctx, q)
	if err == nil {
		return a, nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return a, e
	}
	return a, &provider.Error{Failure: failure.Classify(err)}
}

func status(r provider.Reason) string {
	switch r {
	case provider.Busy:
		return StatusRateLimited
	case provider.Quota:
		return StatusQuota
	case provider.BadKey:
		return StatusBadKey
	case provider.BadQuery:
		return StatusBadQuery
	}
	return StatusFailed
}

// pause leaves the provider alone for as long as its error asks for. An error that
// says nothing of the next search pauses nothing.
func (l *link) pause(e *provider.Error, now time.Time) {
	d := e.Reset
	switch e.Reason {
	case provider.Busy:
		if d <= 0 {
			d = busyPause
		}
	case provider.Quota:
		if d <= 0 {
			d = quotaPause
		}
	case provider.BadKey:
		d = keyPause
	case provider.BadQuery:
		return
	case provider.Broken:
		if d <= 0 { // 503 without Retry-After, no connection: asked again
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(max(d, leastPause)); until.After(l.until) {
		l.until, l.why = until, e
	}
}

// paused returns why the provider is not to be asked now, nil when it may be.
func (l *link) paused(now time.Time) *provider.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.until.Sub(now)
	if left <= 0 {
		return nil
	}
	f := *l.why.Failure
	f.Delivery, f.RetryAfter = failure.NotSent, 0
	if l.why.Reason != provider.Quota {
		f.RetryAfter = left
	}
	f.Message = fmt.Sprintf("%s (not asked again before %s)", f.Message, l.until.UTC().Format(time.RFC3339))
	return &provider.Error{Reason: l.why.Reason, Failure: &f, Reset: left}
}

// whole is the failure of a search at which nobody answered. One provider's is
// passed on; of several, the one that comes back first says what to do, else the
// last, and the message has them all.
func whole(failed []*provider.Error) *failure.Failure {
	lead := failed[len(failed)-1]
	for _, e := range failed {
		if e.Reason == provider.Busy && (lead.Reason != provider.Busy || e.Failure.RetryAfter < lead.Failure.RetryAfter) {
			lead = e
		}
	}
	if len(failed) == 1 {
		return lead.Failure
	}
	f := *lead.Failure
	var all []string
	for _, e := range failed {
		all = append(all, e.Error())
		if e.Failure.Delivery != failure.NotSent && f.Delivery == failure.NotSent {
			f.Delivery = e.Failure.Delivery
		}
	}
	f.Message = "no search provider answered: " + strings.Join(all, "; ")
	return &f
}
