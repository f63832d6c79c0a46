// Package provider speaks to search services: one file a service, all giving the
// same shape of result and of error. It sends one request per search, never
// repeats it and never chooses between services: that is package chain's.
package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// MaxResults is the most results of one search: what a person reads, and what
// every service gives in one page.
const MaxResults = 10

// Query is what to look for. Its zero values mean no restriction.
type Query struct {
	Text     string
	Max      int // 1 to MaxResults
	News     bool
	Fresh    Freshness
	Domains  []string // only these and what is below them
	Exclude  []string // nothing from these
	Country  string   // ISO 3166-1, two capital letters
	Language string   // ISO 639-1, two small letters
}

// Freshness restricts results to a time: a word or both dates.
type Freshness struct {
	Word     string    // "day", "week", "month", "year"
	From, To time.Time // whole days, UTC
}

// ParseFreshness reads "week" or "2026-01-01..2026-02-01".
func ParseFreshness(s string) (Freshness, error) {
	if s == "" || slices.Contains([]string{"day", "week", "month", "year"}, s) {
		return Freshness{Word: s}, nil
	}
	from, to, ok := strings.Cut(s, "..")
	f, err1 := time.Parse(time.DateOnly, from)
	t, err2 := time.Parse(time.DateOnly, to)
	if !ok || err1 != nil || err2 != nil || t.Before(f) {
		return Freshness{}, fmt.Errorf("%q is no freshness: write day, week, month, year, or two dates such as 2026-01-01..2026-02-01", s)
	}
	return Freshness{From: f, To: t}, nil
}

func (f Freshness) isRange() bool { return !f.From.IsZero() }

// since is when the time begins, seen from now; zero without restriction.
func (f Freshness) since(now time.Time) time.Time {
	switch f.Word {
	case "day":
		return now.AddDate(0, 0, -1)
	case "week":
		return now.AddDate(0, 0, -7)
	case "month":
		return now.AddDate(0, -1, 0)
	case "year":
		return now.AddDate(-1, 0, 0)
	}
	return f.From
}

// Hit is one result as a service gives it: its texts may hold markup, and its
// URL may be anything.
type Hit struct {
	Title, URL, Snippet string
	Published           string // in whatever form the service has it
	Score               *float64
	News                bool
}

// Answer is what a service found.
type Answer struct {
	Hits []Hit
	More bool // the service says that it has more
	// Ignored names members of the query that the service has no way to honour.
	Ignored []string
}

// Provider is one search service.
type Provider interface {
	// Name is how results and the config name it: "brave", "mcp:team".
	Name() string
	// Search sends one request. The error is always an *Error.
	Search(context.Context, Query) (Answer, error)
}

// Reason says what an error means for the next search at the same service.
type Reason uint8

const (
	// Broken: it did not answer, or not with what it should; the next time may go well.
	Broken Reason = iota
	// Busy: too many requests for now.
	Busy
	// Quota: what was paid for, or given, is used up.
	Quota
	// BadKey: the credential is missing, wrong or not enough.
	BadKey
	// BadQuery: this very query is refused; another may be fine.
	BadQuery
)

// Error is why a search failed.
type Error struct {
	Reason  Reason
	Failure *failure.Failure
	// Reset is when the service takes requests again, from now; zero when it does
	// not say. For Busy and Quota.
	Reset time.Duration
}

func (e *Error) Error() string { return e.Failure.Error() }

// Unwrap returns the failure.
func (e *Error) Unwrap() error { return e.Failure }

// withSites puts domains into the text, for services that know no other way.
func withSites(q Query) string {
	var b strings.Builder
	b.WriteString(q.Text)
	for i, d := range q.Domains {
		if i == 0 {
			b.WriteString(" (")
		} else {
			b.WriteString(" OR ")
		}
		b.WriteString("site:" + d)
	}
	if len(q.Domains) > 0 {
		b.WriteString(")")
	}
	for _, d := range q.Exclude {
		b.WriteString(" -site:" + d)
	}
	return b.String()
}
