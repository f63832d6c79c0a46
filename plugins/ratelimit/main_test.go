package main

import (
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/hook"
)

func TestLimits(t *testing.T) {
	l, err := open(t.Context(), nil, config{Rules: []rule{
		{Tools: "files/read*", PerMinute: 60, Burst: 2},
		{Tools: "files/*", PerMinute: 6},
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	for i, step := range []struct {
		tool    string
		after   time.Duration
		refused bool
	}{
		{"read_file", 0, false}, {"read_file", 0, false}, {"read_file", 0, true},
		{"read_dir", 0, false},   // each tool has the limit for itself
		{"write_file", 0, false}, // the second rule
		{"write_file", 9 * time.Second, true},
		{"write_file", time.Second, false},
		{"read_file", 0, false}, // 10 s later
	} {
		now = now.Add(step.after)
		v, err := l.Before(t.Context(), &hook.Call{Server: "files", Tool: step.tool})
		if err != nil || (v != nil) != step.refused {
			t.Errorf("step %d %s: %+v, %v; refused %v", i, step.tool, v, err, step.refused)
		}
	}
	for range 100 {
		if v, err := l.Before(t.Context(), &hook.Call{Server: "other", Tool: "x"}); v != nil || err != nil {
			t.Fatal("a tool without a rule is limited")
		}
	}
	// A refused call takes nothing from the next.
	now = now.Add(time.Hour)
	for range 50 {
		_, _ = l.Before(t.Context(), &hook.Call{Server: "files", Tool: "write_file"})
	}
	now = now.Add(10 * time.Second)
	if v, _ := l.Before(t.Context(), &hook.Call{Server: "files", Tool: "write_file"}); v != nil {
		t.Error("refused calls used up the limit")
	}
}

func TestConfig(t *testing.T) {
	for _, bad := range []config{{}, {Rules: []rule{{Tools: "x"}}}, {Rules: []rule{{PerMinute: 1}}}, {Rules: []rule{{Tools: "x", PerMinute: 1, Burst: -1}}}} {
		if _, err := open(t.Context(), nil, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
