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
// happened, and leaves no process behind.
func TestStartFailures(t *testing.T) {
	for _, c := range []struct {
		name, body    string
		class         failure.Class
		misconfigured bool
		says          []string // in the message or the stderr tail
	}{
		{"no such plugin", `plugin = "nobody"`, failure.ConnectionRefused, false, []string{"collet-plugin-nobody"}},
		{"exits", fault("stderr=NEEDS A KEY,exit=3"), failure.ConnectionRefused, false, []string{"exit status 3", "NEEDS A KEY"}},
		{"never shakes hands", fault("nohandshake"), failure.Timeout, false, []string{"start_timeout of 2s", "mcp.toml:1"}},
		{"never shakes hands, but says why", fault("stderr=WAITING FOR A LICENCE,nohandshake"), failure.Timeout, false, []string{"start_timeout of 2s", "WAITING FOR A LICENCE"}},
		{"another contract", fault("version=9"), failure.ConnectionRefused, false, []string{"version"}},
		{"nobody at its address", fault("deaf"), failure.Timeout, false, []string{"start_timeout of 2s"}},
		{"closes stdout", fault("closestdout"), failure.ConnectionRefused, false, []string{"without a handshake"}},
		{"says it is ill", fault("unhealthy"), failure.ConnectionRefused, false, []string{"NOT_SERVING"}},
		{"another core", fault("core=9"), failure.ConnectionRefused, false, []string{"version"}},
		{"no adapter", fault("otherservice"), failure.ConnectionRefused, false, []string{"no collet adapter"}},
		{"configure hangs", fault("configurehang"), failure.Timeout, false, []string{"start_timeout of 2s"}},
		{"watch is silent", fault("watchsilent"), failure.Timeout, false, []string{"start_timeout of 2s"}},
		{"config breaks the plugin's schema", "plugin = \"hello\"\nconfig = { greeting = 7 }", failure.InvalidArguments, true, []string{"/greeting", "mcp.toml:1"}},
		{"config has an unknown key", "plugin = \"hello\"\nconfig = { greting = \"x\" }", failure.InvalidArguments, true, []string{"greting"}},
		{"variable is not set", "plugin = \"hello\"\nconfig = { greeting = \"${NOBODY}\" }", failure.InvalidArguments, true, []string{"NOBODY is not set"}},
		{"value command fails", "plugin = \"hello\"\nenv = { TOKEN = \"!false\" }", failure.InvalidArguments, true, []string{"TOKEN", "failed"}},
		{"cwd is missing", "command = \"sh\"\ncwd = \"/no/such/directory\"", failure.ConnectionRefused, false, []string{"/no/such/directory", "cwd"}},
		{"command is missing", "command = \"no-such-command\"\nenv = { PATH = \"/nowhere/bin:/nor/here\" }", failure.ConnectionRefused, false, []string{"no-such-command", "/nowhere/bin", "/nor/here"}},
		{"upstream's list is none", "command = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"nolist\"]", failure.InvalidResult, false, []string{"tools"}},
		{"upstream exits", "command = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"crash-init\"]", failure.ConnectionRefused, false, []string{"exit status 1", "NASTY_API_KEY"}},
		{"upstream never answers", "command = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"initnever\"]\nstart_timeout = \"4s\"", failure.Timeout, false, []string{"handshake", "start_timeout is 4s", "mcp.toml:1"}},
		{"upstream is no MCP server", "command = \"sh\"\nargs = [\"-c\", \"echo Listening on 3000; sleep 60\"]\nstart_timeout = \"4s\"", failure.Timeout, false, []string{"it printed only output that is no MCP, first \"Listening on 3000\"", "start_timeout is 4s"}},
		{"upstream says what it hears", "command = \"cat\"", failure.InvalidResult, false, []string{"no MCP server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, st := open(t, c.body)
			err := s.Ready(patient(t), 0)
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
	s, st := open(t, adapterEntry())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := s.Ready(patient(t), 0); err != nil {
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
	if f := AsFailure(s.Ready(ctx, 0)); f.Class != failure.Canceled || f.Delivery != failure.NotSent {
		t.Errorf("%+v", f)
	}
	st.await(t, Ready)
}

func TestCloseDuringAStart(t *testing.T) {
	s, st := open(t, "plugin = \"testadapter\"\nenv = { FAULT = \"nohandshake\" }\n")
	ended := make(chan error, 1)
	go func() { ended <- s.Ready(t.Context(), 0) }()
	st.await(t, Starting)
	if err := s.Close(patient(t)); err != nil {
		t.Error(err)
	}
	if f := AsFailure(<-ended); f.Class != failure.Canceled {
		t.Errorf("%+v", f)
	}
	if err := s.Ready(t.Context(), 0); err == nil {
		t.Error("a closed server started")
	}
	if err := s.Close(patient(t)); err != nil {
		t.Error("second close:", err)
	}
}

func TestFailedStartIsNotFinal(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, "command = \"sh\"\nargs = [\"-c\", \"test -e "+dir+"/go && exec $BUILT/faultserver; exit 5\"]\n")
	if err := s.Ready(patient(t), 0); err == nil {
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
		{"max_timeout = \"9s\"\n", 60 * time.Second, 9 * time.Second, 9 * time.Second},
		{"timeout = \"5s\"\nmax_timeout = \"9s\"\n", 0, 5 * time.Second, 9 * time.Second},
	} {
		s, _ := open(t, adapterEntry()+c.body)
		if l := limits(s.Settings(), c.own); l.Timeout != c.timeout || l.MaxTimeout != c.max {
			t.Errorf("%q own %v: %+v", c.body, c.own, l)
		}
	}
}

// A file that is no plugin is a failure of the servers that name it.
func TestFilesThatAreNoPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		says    string
	}{
		"text":           {"hello", 0o700, "collet-plugin-x"},
		"other machine":  {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xff\xff", 0o700, "collet-plugin-x"},
		"not executable": {"#!/bin/sh\n", 0o600, "execut"},
		"fails":          {"#!/bin/sh\necho no licence >&2\nexit 3\n", 0o700, "no licence"},
		"junk":           {"#!/bin/sh\necho junk\n", 0o700, "junk"},
		"empty":          {"#!/bin/sh\n", 0o700, "collet-plugin-x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/collet-plugin-x", []byte(c.content), c.mode); err != nil {
				t.Fatal(err)
			}
			s, _ := open(t, "plugin = \""+dir+"/collet-plugin-x\"\n")
			err := s.Ready(patient(t), 0)
			if err == nil {
				t.Fatal("it started")
			}
			if f := AsFailure(err); f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent || f.Misconfigured || !strings.Contains(f.Message, c.says) {
				t.Errorf("%v %v misconfigured=%v: %s", f.Class, f.Delivery, f.Misconfigured, f.Message)
			}
		})
	}
}

func TestPluginPathIsExpanded(t *testing.T) {
	s, _ := open(t, "plugin = \"${BUILT}/collet-plugin-hello\"\n")
	mustStart(t, s)
	s, _ = open(t, "plugin = \"${NOBODY}/collet-plugin-hello\"\n")
	if f := AsFailure(s.Ready(patient(t), 0)); !f.Misconfigured || !strings.Contains(f.Message, "NOBODY is not set") {
		t.Errorf("%+v", f)
	}
}

// A !command that hangs is bounded by the start, and ends with the server.
func TestValueCommandThatHangs(t *testing.T) {
	hang := func(env *Surroundings) {
		env.Resolver.Command = func(ctx context.Context, _, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
	}
	const body = "plugin = \"hello\"\nenv = { TOKEN = \"!hang\" }\n"
	s, _ := open(t, body+"start_timeout = \"1s\"\n", hang)
	if f := AsFailure(s.Ready(patient(t), 0)); f.Class != failure.Timeout || f.Misconfigured || !strings.Contains(f.Message, "TOKEN") {
		t.Errorf("%+v", f)
	}
	s, st := open(t, body, hang)
	ended := make(chan error, 1)
	go func() { ended <- s.Ready(t.Context(), 0) }()
	st.await(t, Starting)
	if err := s.Close(patient(t)); err != nil {
		t.Error(err)
	}
	if f := AsFailure(<-ended); f.Class != failure.Canceled || f.Misconfigured {
		t.Errorf("%+v", f)
	}
}

// Servers at one url take turns, also when the wait is in vain.
func TestTurns(t *testing.T) {
	var taken []string
	given := 0
	turns := func(env *Surroundings) {
		env.Turn = func(_ context.Context, url string) (func(), error) {
			taken = append(taken, url)
			return func() { given++ }, nil
		}
	}
	s, _ := open(t, "url = \"http://127.0.0.1:1/${BUILT}\"\nstart_timeout = \"5s\"\n", turns)
	if err := s.Ready(patient(t), 0); err == nil || len(taken) != 1 || taken[0] != "http://127.0.0.1:1/"+built || given != 1 {
		t.Errorf("%v, taken %v, given back %d times", err, taken, given)
	}
	s, _ = open(t, adapterEntry(), turns)
	if mustStart(t, s); len(taken) != 1 {
		t.Errorf("taken for no url: %v", taken)
	}
	s, _ = open(t, "url = \"http://127.0.0.1:1/\"\nstart_timeout = \"1s\"\n", func(env *Surroundings) {
		env.Turn = func(ctx context.Context, _ string) (func(), error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	if f := AsFailure(s.Ready(patient(t), 0)); f.Class != failure.Timeout || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "same url") {
		t.Errorf("%+v", f)
	}
}
