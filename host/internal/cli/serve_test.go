package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/front/control"
	"github.com/collet-dev/collet/sdk/failure"
)

// What serves follows its files and says on stderr what is wrong with them now;
// other commands read them once.
func TestServingFollowsTheConfiguration(t *testing.T) {
	var stderr bytes.Buffer
	fake := &fakeHost{problems: []host.Problem{{File: "mcp.toml", Line: 1, Message: "first"}}}
	var watches []bool
	f := New(&terminal.Streams{Err: &stderr}, func(string) string { return "mcp.toml" }, "test")
	f.Open = func(_ context.Context, opt host.Options) (openHost, error) {
		watches = append(watches, opt.Watch)
		return fake, nil
	}
	if _, err := f.openSilently(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.openServing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(watches) != 2 || watches[0] || !watches[1] {
		t.Errorf("watches: %v", watches)
	}
	if fake.subscribed == nil {
		t.Fatal("no event is heard")
	}
	fake.subscribed(host.Event{ServerChanged: &host.ServerEvent{Server: "s", State: "ready"}})
	fake.subscribed(host.Event{ConfigChanged: &host.ConfigEvent{Problems: []host.Problem{{File: "mcp.toml", Line: 2, Message: "second"}}}})
	if got := stderr.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "first") ||
		!strings.Contains(got, "the configuration changed\n") || !strings.Contains(got, "mcp.toml:2") || !strings.Contains(got, "second") {
		t.Errorf("told: %s", got)
	}
}

// A server that does not start is told of once, and again when it is there; one
// that works never.
func TestServingTellsOfFailedStarts(t *testing.T) {
	var stderr bytes.Buffer
	s := newStarts(&terminal.Streams{Err: &stderr})
	gone := &host.Failure{Server: "a", Failure: *failure.New(failure.ConnectionRefused, failure.NotSent, "it exited:\n  NEEDS A KEY")}
	away := &host.Failure{Server: "b", Remote: true, Failure: *failure.New(failure.ConnectionRefused, failure.NotSent, "connect to http://b: refused")}
	long := &host.Failure{Server: "c", Failure: *failure.New(failure.AuthFailure, failure.NotSent, "%s", strings.Repeat("ü", maxReason))}
	for _, e := range []host.ServerEvent{
		{Server: "a", State: "starting"}, {Server: "a", State: "failed", Failure: gone},
		{Server: "a", State: "starting"}, {Server: "a", State: "failed", Failure: gone},
		{Server: "b", State: "starting"}, {Server: "b", State: "failed", Failure: away},
		{Server: "d", State: "starting"}, {Server: "d", State: "ready"}, {Server: "d", State: "backing-off", Failure: gone}, {Server: "d", State: "ready"},
		{Server: "a", State: "starting"}, {Server: "a", State: "ready"}, {Server: "a", State: "degraded"}, {Server: "a", State: "ready"},
		{Server: "b", State: "idle"}, {Server: "b", State: "starting"}, {Server: "b", State: "failed", Failure: away}, {Server: "b", State: "stopped"},
		{Server: "c", State: "failed", Failure: long},
	} {
		s.heard(&e)
	}
	want := `collet: a did not start: it exited: NEEDS A KEY; 'collet servers logs a' shows what it said
collet: b did not start: connect to http://b: refused
collet: a has started
collet: b did not start: connect to http://b: refused
collet: c did not start: ` + strings.Repeat("ü", maxReason/2) + "...\n"
	if got := stderr.String(); got != want {
		t.Errorf("told\n%swant\n%s", got, want)
	}
}

// answering is a host whose face writes to its client once.
type answering struct{ *fakeHost }

func (answering) Front() frontend { return oneWord{} }

type oneWord struct{}

func (oneWord) Close(context.Context) error { return nil }

func (oneWord) ServeStdio(_ context.Context, _ io.Reader, out io.Writer) error {
	if _, err := out.Write([]byte("x")); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// A client that does not read any more has gone, which is no error; a full disk is.
func TestServingWhoReadsNoMore(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	full := errors.New("disk full")
	for _, c := range []struct {
		out  io.Writer
		want error
	}{{w, nil}, {broken{full}, full}} {
		opts := &serveOptions{
			Host:    func(context.Context) (openHost, error) { return answering{&fakeHost{}}, nil },
			ShareAt: func(context.Context, *control.Owner, openHost, stdioServer, bool) *sharing { return nil },
		}
		if err := serveOwn(t.Context(), opts, nil, strings.NewReader(""), c.out); !errors.Is(err, c.want) {
			t.Errorf("ended with %v, want %v", err, c.want)
		}
	}
}
