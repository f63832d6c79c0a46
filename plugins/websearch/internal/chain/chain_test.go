package chain

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/plugins/websearch/internal/provider"
	"github.com/collet-dev/collet/sdk/failure"
)

// scripted is a provider that answers with what it is told, one after the other.
type scripted struct {
	name  string
	steps []step
	asked int
}

type step struct {
	answer provider.Answer
	err    error
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Search(context.Context, provider.Query) (provider.Answer, error) {
	st := s.steps[min(s.asked, len(s.steps)-1)]
	s.asked++
	return st.answer, st.err
}

var one = step{answer: provider.Answer{Hits: []provider.Hit{{Title: "T", URL: "https://example.org/"}}}}

func fails(r provider.Reason, class failure.Class, reset time.Duration) step {
	f := failure.New(class, failure.Answered, "it says no (%d)", r)
	if r == provider.Busy {
		f.RetryAfter = reset
	}
	return step{err: &provider.Error{Reason: r, Failure: f, Reset: reset}}
}

func TestChain(t *testing.T) {
	busy := fails(provider.Busy, failure.RateLimited, 40*time.Second)
	bare := fails(provider.Busy, failure.RateLimited, 0)
	quota := fails(provider.Quota, failure.RateLimited, 0)
	month := fails(provider.Quota, failure.RateLimited, 300*time.Hour)
	key := fails(provider.BadKey, failure.AuthFailure, 0)
	query := fails(provider.BadQuery, failure.InvalidArguments, 0)
	down := fails(provider.Broken, failure.ServerError, 0)
	late := fails(provider.Broken, failure.ServerError, 20*time.Second)
	odd := step{err: errors.New("no *Error")}
	nothing := step{}

	for _, c := range []struct {
		name  string
		a, b  []step
		after time.Duration // between the two searches
		want  [2]string     // attempts, or the failure's class
	}{
		{"first answers", []step{one}, []step{one}, 0, [2]string{"a ok", "a ok"}},
		{"nothing found is an answer", []step{nothing}, []step{one}, 0, [2]string{"a ok", "a ok"}},
		{"down is asked again", []step{down, one}, []step{one}, 0, [2]string{"a failed, b ok", "a ok"}},
		{"down with a time", []step{late, one}, []step{one}, 19 * time.Second, [2]string{"a failed, b ok", "a skipped, b ok"}},
		{"down, time over", []step{late, one}, []step{one}, 20 * time.Second, [2]string{"a failed, b ok", "a ok"}},
		{"busy", []step{busy, one}, []step{one}, 39 * time.Second, [2]string{"a rate-limited, b ok", "a skipped, b ok"}},
		{"busy, over", []step{busy, one}, []step{one}, 40 * time.Second, [2]string{"a rate-limited, b ok", "a ok"}},
		{"busy without a time", []step{bare, one}, []step{one}, busyPause - 1, [2]string{"a rate-limited, b ok", "a skipped, b ok"}},
		{"busy without a time, over", []step{bare, one}, []step{one}, busyPause, [2]string{"a rate-limited, b ok", "a ok"}},
		{"quota", []step{quota, one}, []step{one}, quotaPause - 1, [2]string{"a quota, b ok", "a skipped, b ok"}},
		{"quota, over", []step{quota, one}, []step{one}, quotaPause, [2]string{"a quota, b ok", "a ok"}},
		{"quota of a month", []step{month, one}, []step{one}, 299 * time.Hour, [2]string{"a quota, b ok", "a skipped, b ok"}},
		{"bad key", []step{key, one}, []step{one}, keyPause - 1, [2]string{"a bad-key, b ok", "a skipped, b ok"}},
		{"bad key, over", []step{key, one}, []step{one}, keyPause, [2]string{"a bad-key, b ok", "a ok"}},
		{"bad query ends it", []step{query, one}, []step{one}, 0, [2]string{"invalid-arguments", "a ok"}},
		{"an error without a reason", []step{odd, one}, []step{one}, 0, [2]string{"a failed, b ok", "a ok"}},
		{"both down", []step{down}, []step{late}, 0, [2]string{"server-error", "server-error"}},
		{"busy leads", []step{busy}, []step{down}, 0, [2]string{"rate-limited", "rate-limited"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
			ch := New([]provider.Provider{&scripted{name: "a", steps: c.a}, &scripted{name: "b", steps: c.b}}, slog.New(slog.DiscardHandler))
			ch.now = func() time.Time { return now }
			for i, want := range c.want {
				f, err := ch.Search(t.Context(), provider.Query{Text: "q", Max: 5}, "")
				var got []string
				if err != nil {
					got = []string{failure.Classify(err).Class.String()}
				} else {
					for _, a := range f.Attempts {
						got = append(got, a.Provider+" "+a.Status)
						if (a.Error == "") != (a.Status == StatusOK) {
							t.Errorf("attempt %+v", a)
						}
					}
				}
				if s := strings.Join(got, ", "); s != want {
					t.Errorf("search %d: %s, want %s", i, s, want)
				}
				now = now.Add(c.after)
			}
		})
	}
}

func TestTheFailureSaysEverything(t *testing.T) {
	ch := New([]provider.Provider{
		&scripted{name: "a", steps: []step{fails(provider.Busy, failure.RateLimited, 40*time.Second)}},
		&scripted{name: "b", steps: []step{fails(provider.Busy, failure.RateLimited, 7*time.Second)}},
		&scripted{name: "c", steps: []step{fails(provider.BadKey, failure.AuthFailure, 0)}},
	}, slog.New(slog.DiscardHandler))
	_, err := ch.Search(t.Context(), provider.Query{Text: "q", Max: 5}, "")
	f := failure.Classify(err)
	if f.Class != failure.RateLimited || f.RetryAfter != 7*time.Second || strings.Count(f.Message, "it says no") != 3 || f.Delivery != failure.Answered {
		t.Errorf("failure %+v", f)
	}
	_, err = ch.Search(t.Context(), provider.Query{Text: "q", Max: 5}, "b")
	f = failure.Classify(err)
	if f.Class != failure.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > 7*time.Second || f.Delivery != failure.NotSent {
		t.Errorf("failure %+v", f)
	}
	if _, err = ch.Search(t.Context(), provider.Query{Text: "q", Max: 5}, "d"); failure.Classify(err).Class != failure.InvalidArguments {
		t.Errorf("error %v", err)
	}
}

func TestNobodyElseIsAskedWithoutTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &scripted{name: "b", steps: []step{one}}
	ch := New([]provider.Provider{&scripted{name: "a", steps: []step{{err: ctx.Err()}}}, b}, slog.New(slog.DiscardHandler))
	if _, err := ch.Search(ctx, provider.Query{Text: "q", Max: 5}, ""); err == nil || b.asked != 0 {
		t.Errorf("error %v, the second was asked %d times", err, b.asked)
	}
}

func TestFound(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	hit := func(u string) provider.Hit { return provider.Hit{URL: u, Title: u} }
	q := provider.Query{Text: "q", Max: 3, Exclude: []string{"bad.example"}}
	f := found(q, "p", nil, provider.Answer{Hits: []provider.Hit{
		{URL: "https://www.Example.org/a/?utm_source=x&b=1#f", Title: "A <strong>title</strong>", Snippet: "x &amp; y\n<script>no</script>\u202e\u200b!", Published: "3 days ago"},
		hit("http://example.org:80/a?b=1"), hit("javascript:alert(1)"), hit("ftp://example.org/"), hit("not a url"), hit("https://u:p@example.org/"),
		hit("https://sub.bad.example/"), hit("https://notbad.example/"), hit("https://" + strings.Repeat("x", maxURL)), hit("https://example.org/b"), hit("https://example.org/c"),
	}}, now)
	if len(f.Results) != 3 || !f.Truncated {
		t.Fatalf("found %+v", f)
	}
	r := f.Results[0]
	if r.Title != "A title" || r.Snippet != "x & y !" || r.SourceHost != "www.example.org" || r.PublishedAt != "2026-11-27T12:00:00Z" || r.Kind != "web" {
		t.Errorf("result %+v", r)
	}
	if f.Results[1].SourceHost != "notbad.example" || f.Results[2].Rank != 3 {
		t.Errorf("results %+v", f.Results)
	}
	f = found(provider.Query{Max: 5, Domains: []string{"example.org"}}, "p", nil, provider.Answer{Hits: []provider.Hit{hit("https://a.example.org/"), hit("https://example.org.evil.example/")}}, now)
	if len(f.Results) != 1 || f.Truncated {
		t.Errorf("found %+v", f)
	}
}

func TestPublished(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"2026-11-03T10:00:00":           "2026-11-03T10:00:00Z",
		"2026-10-01T00:00:00.000Z":      "2026-10-01T00:00:00Z",
		"Sat, 28 Nov 2026 07:00:00 GMT": "2026-11-28T07:00:00Z",
		"Nov 3, 2026":                   "2026-11-03T00:00:00Z",
		"November 3, 2026":              "2026-11-03T00:00:00Z",
		"3 hours ago":                   "2026-11-30T09:00:00Z",
		"1 week ago":                    "2026-11-23T12:00:00Z",
		"a month ago":                   "2026-10-30T12:00:00Z",
		"yesterday":                     "", "": "", "0001-01-01": "", "-3 days ago": "", "999 days ago": "", "3 parsecs ago": "",
	} {
		got := ""
		if d, ok := published(s, now); ok {
			got = d.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
}
