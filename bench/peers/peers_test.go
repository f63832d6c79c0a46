package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/bench/internal/load"
)

// TestGateway goes with collet the way that every program goes.
func TestGateway(t *testing.T) {
	bin := os.Getenv("COLLET_BIN_DIR")
	if bin == "" {
		t.Skip("COLLET_BIN_DIR is not set; make test sets it")
	}
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("no /proc/PID/smaps_rollup here")
	}
	dir := t.TempDir()
	f := &field{dir: dir, echo: filepath.Join(dir, "echoserver"), collet: filepath.Join(bin, "collet")}
	if out, err := exec.Command("go", "build", "-o", f.echo, "../internal/echoserver").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := f.link(); err != nil {
		t.Fatal(err)
	}
	for _, g := range f.gateways() {
		if !strings.HasPrefix(g.name, "collet") {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			s, err := f.start(t.Context(), g, echoes(2), 2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.close)
			if err := s.call(t.Context(), s.blob, load.Blob(1<<20), 1<<20); err != nil {
				t.Error(err)
			}
			if s.call(t.Context(), s.blob, load.Blob(1<<20), 2<<20) == nil {
				t.Error("an answer that is too short counts")
			}
			own, servers := s.split(f.echo)
			if len(own) != 3 || len(servers) != 2 {
				t.Errorf("%d processes and %d servers, not a host, two adapters and two servers", len(own), len(servers))
			}
			if sum, err := s.memory(f.echo); err != nil || sum < 4<<20 {
				t.Errorf("%d bytes, %v", sum, err)
			}
			if took, _, err := s.recover(t.Context(), servers); err != nil || took == 0 {
				t.Errorf("%v, %v", took, err)
			}
			var figures gatewayFigures
			if err := s.abandon(f.echo, &figures); err != nil || figures.orphans != 0 {
				t.Errorf("%d servers are left, %v", figures.orphans, err)
			}
		})
	}
}

func TestReport(t *testing.T) {
	r := report{
		machine: "a machine", commit: "commit abc", versions: []string{"mcporter 1"},
		commands: []commandFigure{{"a call", []time.Duration{20 * time.Millisecond, 500 * time.Millisecond}}},
		gateways: []gatewayFigures{{name: "collet", one: 1500 * time.Microsecond, perSecond: 12.6, orphans: 3}},
	}
	var b bytes.Buffer
	r.write(&b)
	for _, line := range []string{
		"| a call | 20.0 ms | 500.0 ms | 25 x |",
		"| a call, p50 | 1500 us |",
		"| calls/s, 16 in flight | 13 |",
		"| the same beside one more server, which never answers | not in 30s |",
		"| it is killed itself (-9): servers left 5s later | 3 |",
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, b.String())
		}
	}
}
