package cli

import (
	"testing"

	"github.com/collet-dev/collet/host"
)

func TestExitCodesOfScripts(t *testing.T) {
	for kind, want := range map[host.ScriptKind]int{
		host.ScriptSyntax: 2, host.ScriptTimeout: 6, host.ScriptMemory: 7, host.ScriptOutput: 7, host.ScriptAborted: 130,
		host.ScriptThrew: 1, host.ScriptStalled: 1, host.ScriptSandbox: 1, "new": 1,
	} {
		if got := outcomeCode(&host.ScriptOutcome{Status: "failed", Error: &host.ScriptError{Kind: kind}}); got != want {
			t.Errorf("%s exits with %d, want %d", kind, got, want)
		}
	}
	if got := outcomeCode(&host.ScriptOutcome{Status: "completed"}); got != 0 {
		t.Errorf("completed exits with %d", got)
	}
}

func TestFaultOfAScript(t *testing.T) {
	opts := &runOptions{File: "dir/report.ts"}
	for want, e := range map[string]host.ScriptError{
		"report.ts:3:5: TypeError: x is no function":                      {Kind: host.ScriptThrew, Name: "TypeError", Message: "x is no function", Line: 3, Column: 5},
		"report.ts: timeout: its time is over":                            {Kind: host.ScriptTimeout, Message: "its time is over"},
		"report.ts:1:1: SyntaxError: no\n  at f (script:1:1)\n      at g": {Kind: host.ScriptSyntax, Name: "SyntaxError", Message: "no", Line: 1, Column: 1, Stack: "at f (script:1:1)\n    at g\n"},
	} {
		if got := opts.fault(&e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (&runOptions{File: "-"}).name(); got != "stdin" {
		t.Error(got)
	}
}

func TestStatusOfCalls(t *testing.T) {
	var c host.ScriptCall
	c.Tool, c.InFlight, c.Made = "files/read", 1, 12
	if got := callStatus(c); got != "1 call in flight, 12 made; files/read" {
		t.Error(got)
	}
	c.Ended, c.InFlight = true, 0
	if got := callStatus(c); got != "0 calls in flight, 12 made" {
		t.Error(got)
	}
}
