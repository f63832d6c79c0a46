package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
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
	fake.subscribed(host.Event{ServerChanged: &host.ServerEvent{Server: "s"}})
	fake.subscribed(host.Event{ConfigChanged: &host.ConfigEvent{Problems: []host.Problem{{File: "mcp.toml", Line: 2, Message: "second"}}}})
	if got := stderr.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "first") ||
		!strings.Contains(got, "the configuration changed\n") || !strings.Contains(got, "mcp.toml:2") || !strings.Contains(got, "second") {
		t.Errorf("told: %s", got)
	}
}
