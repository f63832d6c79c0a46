package server

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// Every way in which a start fails is a failure of a clear class that says what
// happened, and leaves no process behind (goleak and launch's own tests).
func TestStartFailures(t *testing.T) {
	for _, c := range []struct {
		name, body    string
		class         failure.Class
		misconfigured bool
		says          []string
		tail          string
	}{
		{"no such plugin", `plugin = "nobody"`, failure.ConnectionRefused, false, []string{"collet-plugin-nobody"}, ""},
		{"exits", fault("stderr=NEEDS A KEY,exit=3"), failure.ConnectionRefused, false, []string{"exit status 3", "NEEDS A KEY"}, ""},
		{"never shakes hands", fault("nohandshake"), failure.Timeout, false, []string{"start_timeout of 2s", "mcp.toml:1"}, ""},
		{"another version", fault("core=9"), failure.ConnectionRefused, false, []string{"version"}, ""},
		{"no adapter", fault("otherservice"), failure.ConnectionRefused, false, nil, ""},
		{"configure hangs", fault("configurehang"), failure.Timeout, false, []string{"start_timeout of 2s"}, ""},
		{"watch is silent", fault("watchsilent"), failure.Timeout, false, []string{"start_timeout of 2s"}, ""},
		{"config breaks the plugin's schema", "plugin = \"hello\"\nconfig = { greeting = 7 }", failure.InvalidArguments, true, []string{"/greeting", "mcp.toml:1"}, ""},
		{"config has an unknown key", "plugin = \"hello\"\nconfig = { greting = \"x\" }", failure.InvalidArguments, true, []string{"greting"}, ""},
		{"variable is not set", "plugin = \"hello\"\nconfig = { greeting = \"${NOBODY}\" }", failure.InvalidArguments, true, []string{"NOBODY is not set"}, ""},
		{"value command fails", "plugin = \"hello\"\nenv = { TOKEN = \"!false\" }", failure.InvalidArguments, true, []string{"TOKEN", "failed"}, ""},
		{"command is missing", `command = "no-such-command"`, failure.ConnectionRefused, false, []string{"no-such-command", "PATH"}, ""},
		{"upstream exits", "command = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"crash-init\"]", failure.ConnectionRefused, false, []string{"exit status 1", "NASTY_API_KEY"}, ""},
		{"upstream never answers", "command = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"initnever\"]\nstart_timeout = \"2s\"", failure.Timeout, false, []string{"start_timeout"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, st := open(t, c.body)
			err := s.Ready(patient(t))
			if err == nil {
				t.Fatal("it started")
			}
			f := AsFailure(err)
			if f.Class != c.class || f.Delivery != failure.NotSent || f.Misconfigured != c.misconfigured {
				t.Errorf("%v %v misconfigured=%v: %s", f.Class, f.Delivery, f.Misconfigured, f.Message)
			}
			for _, want := range c.says {
				if !strings.Contains(f.Message+strings.Join(f.StderrTail, "\n"), want) {
					t.Errorf("%q (tail %q) lacks %q", f.Message, f.StderrTail, want)
				}
			}
			if got := st.list(); got != "starting failed" {
				t.Errorf("states: %s", got)
			}
			if now := s.Status(); now.Failure == nil || now.Pid != 0 {
				t.Errorf("status %+v", now)
			}
		})
	}
}

func TestStartIsShared(t *testing.T) {
	s, st := open(t, plainAdapter)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := s.Ready(patient(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := st.list(); got != "starting ready" {
		t.Errorf("states: %s", got)
	}
}

func TestStartOutlivesWhoGaveUp(t *testing.T) {
	s, st := open(t, fault("slow=300ms"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := AsFailure(s.Ready(ctx)); f.Class != failure.Canceled || f.Delivery != failure.NotSent {
		t.Errorf("%+v", f)
	}
	st.await(t, Ready)
}

func TestCloseDuringAStart(t *testing.T) {
	s, st := open(t, "plugin = \"testadapter\"\nenv = { FAULT = \"nohandshake\" }\n")
	ended := make(chan error, 1)
	go func() { ended <- s.Ready(t.Context()) }()
	st.await(t, Starting)
	if err := s.Close(patient(t)); err != nil {
		t.Error(err)
	}
	if f := AsFailure(<-ended); f.Class != failure.Canceled {
		t.Errorf("%+v", f)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("a closed server started")
	}
	if err := s.Close(patient(t)); err != nil {
		t.Error("second close:", err)
	}
}

func TestFailedStartIsNotFinal(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, "command = \"sh\"\nargs = [\"-c\", \"test -e "+dir+"/go && exec $BUILT/faultserver; exit 5\"]\n")
	if err := s.Ready(patient(t)); err == nil {
		t.Fatal("it started")
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustStart(t, s)
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		body         string
		own          time.Duration
		timeout, max time.Duration
	}{
		{"", 0, 30 * time.Second, 300 * time.Second},
		{"", 300 * time.Second, 300 * time.Second, 3000 * time.Second},
		{"", 600 * time.Second, 600 * time.Second, time.Hour},
		{"timeout = \"5s\"\n", 60 * time.Second, 5 * time.Second, 50 * time.Second},
		{"timeout = \"5s\"\nmax_timeout = \"9s\"\n", 0, 5 * time.Second, 9 * time.Second},
	} {
		s, _ := open(t, plainAdapter+c.body)
		if l := limits(s.set, c.own); l.Timeout != c.timeout || l.MaxTimeout != c.max {
			t.Errorf("%q own %v: %+v", c.body, c.own, l)
		}
	}
}
