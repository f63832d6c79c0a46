package mcp

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

func TestEras(t *testing.T) {
	for _, test := range []struct {
		faults, version string
		modern          bool
		opt             Options
		args            []string
		received        []string // up to the list
		starts          int
	}{
		{faults: "", version: "2025-11-25", received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "", version: "2025-11-25", opt: Options{SkipProbe: true}, received: []string{"initialize", "notifications/initialized"}},
		{faults: "modern", version: "2026-07-28", modern: true, received: []string{"server/discover"}},
		{faults: "modern-only", version: "2026-07-28", modern: true, received: []string{"server/discover"}},
		{faults: "modern-only", version: "2026-07-28", modern: true, opt: Options{SkipProbe: true}, received: []string{"initialize", "server/discover"}},
		{faults: "modern-only,discover-slow", version: "2026-07-28", modern: true, opt: Options{ProbeTimeout: 20 * time.Millisecond}, args: []string{"-delay", "200ms"}, received: []string{"server/discover", "initialize", "server/discover"}},
		{faults: "discover-die", version: "2025-11-25", starts: 2, received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "discover-silent", version: "2025-11-25", opt: Options{ProbeTimeout: 50 * time.Millisecond}, received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "discover-odd", version: "2025-11-25", received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "discover-empty", version: "2025-11-25", received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "discover-old", version: "2025-11-25", received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "version-old", version: "2024-11-05", received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "needinit", version: "2025-11-25", received: []string{"server/discover", "initialize", "notifications/initialized"}},
		{faults: "earlynotif", version: "2025-11-25", received: []string{"server/discover", "initialize", "notifications/initialized"}},
	} {
		t.Run(test.faults, func(t *testing.T) {
			t.Parallel()
			p := faulty(t, append([]string{"-fault", test.faults}, test.args...)...)
			c := connectTo(t, p, test.opt)
			if s := c.Server(); s.ProtocolVersion != test.version || s.Modern != test.modern {
				t.Errorf("Server() = %s, modern %v; want %s, %v", s.ProtocolVersion, s.Modern, test.version, test.modern)
			}
			echoes(t, c)
			if got := p.received(t); !slices.Equal(got[:len(got)-1], test.received) {
				t.Errorf("the server received %q, want %q before the call", got, test.received)
			}
			if got := p.count(t, "start"); got != max(test.starts, 1) {
				t.Errorf("the server was started %d times, want %d", got, max(test.starts, 1))
			}
		})
	}
}

func TestServerInfo(t *testing.T) {
	for faults, name := range map[string]string{"": "legacy", "modern": "modern"} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, faults).Server()
			if got := string(s.Info); got != `{"name":"faultserver","version":"1"}` {
				t.Errorf("Info = %s", got)
			}
			if s.Instructions != "be careful" || !strings.Contains(string(s.Capabilities), `"tools"`) || !strings.Contains(string(s.Raw), `"instructions"`) {
				t.Errorf("Server() = %+v", s)
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	for _, test := range []struct {
		faults   string
		class    failure.Class
		delivery failure.Delivery
		parts    []string
	}{
		{"version-future", failure.InvalidResult, failure.Answered, []string{"2027-01-01", "2026-07-28", "2024-11-05"}},
		{"version-bad", failure.InvalidResult, failure.Answered, []string{`version "latest"; this`, "2025-11-25"}},
		{"version-number", failure.InvalidResult, failure.Answered, []string{"20250618", "2025-11-25"}},
		{"discover-future", failure.InvalidResult, failure.Answered, []string{"2099-01-01", "2099-02-01", "2026-07-28"}},
		{"init-error", failure.ServerError, failure.Answered, []string{"refused to initialize: no licence"}},
		{"discover-refused", failure.InvalidResult, failure.Answered, []string{"2099-01-01", "2026-07-28"}},
		{"crash-init", failure.ConnectionRefused, failure.NotSent, []string{"exit status 1", "NASTY_API_KEY"}},
		{"exit0", failure.ConnectionRefused, failure.NotSent, []string{"exit status 0"}},
		{"contentlength", failure.ConnectionRefused, failure.NotSent, []string{"LSP framing"}},
		{"utf16", failure.ConnectionRefused, failure.NotSent, []string{"not UTF-8"}},
	} {
		t.Run(test.faults, func(t *testing.T) {
			t.Parallel()
			_, err := Start(within(t), faulty(t, "-fault", test.faults).cmd, Options{})
			if err == nil {
				t.Fatal("Start succeeded")
			}
			wantFailure(t, asFailure(t, err), test.class, test.delivery, test.parts...)
		})
	}
}

func TestStartTimesOut(t *testing.T) {
	p := faulty(t, "-fault", "initnever")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, p.cmd, Options{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.NotSent, "start_timeout")
	if p.count(t, "notifications/cancelled") != 0 {
		t.Error("initialize was cancelled, which MCP forbids")
	}
}

func TestStartCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, faulty(t).cmd, Options{})
	wantFailure(t, asFailure(t, err), failure.Canceled, failure.NotSent)
}

func TestCommandNotFound(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(within(t), Command{Path: "no-such-command", Env: []string{"PATH=/nope:" + dir}}, Options{})
	wantFailure(t, asFailure(t, err), failure.ConnectionRefused, failure.NotSent, "no-such-command", "/nope:"+dir, "absolute path")
	_, err = Start(within(t), Command{Path: dir + "/missing"}, Options{})
	wantFailure(t, asFailure(t, err), failure.ConnectionRefused, failure.NotSent, dir+"/missing", "no such file")
}

// What lies where the host was started is not on the PATH.
func TestRelativePathEntries(t *testing.T) {
	t.Chdir(binDir)
	_, err := Start(within(t), Command{Path: "faultserver", Env: []string{"PATH=:."}}, Options{})
	wantFailure(t, asFailure(t, err), failure.ConnectionRefused, failure.NotSent, "faultserver")
}

// The child's own PATH counts, not ours.
func TestPathOfTheChild(t *testing.T) {
	p := faulty(t)
	p.cmd.Path = "faultserver"
	p.cmd.Env = []string{"PATH=relative:" + binDir}
	echoes(t, connectTo(t, p, Options{}))
}
