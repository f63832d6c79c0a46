package host_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// A restart makes another process of a server in whatever state it is; a call that is
// under way gets its answer from the one before.
func TestRestart(t *testing.T) {
	h := open(t, faultyToml+"[servers.off]\ncommand = \"${BUILT}/faultserver\"\ndisabled = true\n[servers.missing]\ncommand = \"${BUILT}/no-such-program\"\n")
	ctx := patient(t)
	pid := func() int {
		for _, s := range h.Servers() {
			if s.Name == "n" {
				return s.Pid
			}
		}
		return 0
	}
	if err := h.Restart(ctx, "n"); err != nil || pid() == 0 {
		t.Fatalf("of one that was idle: %v, pid %d", err, pid())
	}
	first := pid()
	begun := make(chan struct{})
	var once sync.Once
	answered := make(chan error, 1)
	go func() {
		_, err := h.Call(ctx, host.Request{Tool: "n/t_progress", Arguments: json.RawMessage(`{"ms":1500,"step":100}`), OnProgress: func(host.Progress) { once.Do(func() { close(begun) }) }})
		answered <- err
	}()
	select {
	case <-begun:
	case err := <-answered:
		t.Fatal("the call ended before its first progress:", err)
	}
	if err := h.Restart(ctx, "n"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("a call that was under way: %v", err)
	}
	if pid() == 0 || pid() == first {
		t.Errorf("pid %d after a restart, %d before", pid(), first)
	}
	mustCall(t, h, "n/echo", `{"text":"x"}`)
	for server, class := range map[string]failure.Class{"off": failure.NotFound, "nobody": failure.NotFound, "missing": failure.ConnectionRefused} {
		err := h.Restart(ctx, server)
		if f, ok := errors.AsType[*host.Failure](err); !ok || f.Class != class || f.Server != server {
			t.Errorf("%s: %v, want class %s", server, err, class)
		}
	}
}
