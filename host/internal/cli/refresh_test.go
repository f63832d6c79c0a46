package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// A line says which lists are not of now, and of when they are.
func TestTellStale(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d - 100*time.Millisecond) }
	for want, asked := range map[string]map[string]time.Time{
		"": {"a": {}, "b": {}},
		"collet: tool list of a is 1s old; use --refresh to ask again\n":                                {"a": ago(time.Second)},
		"collet: tool list of b is 3m old; use --refresh to ask again\n":                                {"a": {}, "b": ago(3 * time.Minute)},
		"collet: tool lists of a, b are up to 3m old; use --refresh to ask again\n":                     {"a": ago(time.Minute), "b": ago(3 * time.Minute), "c": {}},
		"collet: tool lists are up to 3m old; use --refresh to ask again\n":                             {"a": ago(time.Minute), "b": ago(3 * time.Minute)},
		"collet: tool lists are of unknown age; use --refresh to ask again\n":                           {"a": ago(time.Minute), "b": ago(-time.Hour)},
		"collet: tool lists of a, b, c, d, e and others are up to 2m old; use --refresh to ask again\n": {"a": ago(2 * time.Minute), "b": now, "c": now, "d": now, "e": now, "f": now, "g": {}},
		"collet: tool list of b is of unknown age; use --refresh to ask again\n":                        {"a": {}, "b": ago(-time.Hour)},
		"collet: tool lists of a, b are of unknown age; use --refresh to ask again\n":                   {"a": ago(time.Minute), "b": ago(-time.Hour), "c": {}},
	} {
		list := &host.Listing{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			if at, ok := asked[name]; ok {
				list.Servers = append(list.Servers, host.Server{Name: name, Asked: at})
			}
		}
		var told bytes.Buffer
		tellStale(&terminal.Streams{Err: &told}, list)
		if told.String() != want {
			t.Errorf("%q, want %q", told.String(), want)
		}
	}
	if isYoung(ago(refreshAfter)) || !isYoung(ago(time.Second)) || isYoung(ago(-time.Hour)) {
		t.Error("what is old or of the future is asked for again, and nothing else")
	}
}

// When a server was asked is left out where the clock says that it is still to come.
func TestAsked(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, asked := range map[string]time.Time{`{"asked":"2026-03-01T12:00:00Z"}`: at, `{}`: time.Now().Add(time.Hour)} {
		var o rawjson.Object
		addAsked(&o, asked)
		if got := string(o.Bytes()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestClientsText(t *testing.T) {
	for n, want := range map[int]string{0: "0 clients", 1: "1 client", 2: "2 clients"} {
		if got := clientsText(n); got != want {
			t.Errorf("%q", got)
		}
	}
}
