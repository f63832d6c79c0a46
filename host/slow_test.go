package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// The first start of a package runner outlives its start_timeout: the failure says
// so, a longer one counts without another host, and a call's timeout has no part
// in it.
func TestSlowStart(t *testing.T) {
	const server = "[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"startslow\", \"-delay\", \"3s\"]\ntimeout = \"1s\"\nstart_timeout = %q\n"
	w := watch(t, fmt.Sprintf(server, "1s"))
	_, err := w.Call(patient(t), host.Request{Tool: "n/echo", Arguments: json.RawMessage(`{"text":"x"}`), Caller: host.CLI})
	var f *host.Failure
	if !errors.As(err, &f) || f.Class != failure.Timeout || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "package runner") {
		t.Fatalf("got %v", err)
	}
	w.reload(t, fmt.Sprintf(server, "60s"))
	mustCall(t, w.Host, "n/echo", `{"text":"x"}`)
}

// Ten servers that take their time take it side by side.
func TestSlowStartsSideBySide(t *testing.T) {
	var toml strings.Builder
	const servers, each = 10, 2 * time.Second
	for i := range servers {
		fmt.Fprintf(&toml, "[servers.n%d]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"initslow\", \"-delay\", %q]\n", i, each.String())
	}
	h := open(t, toml.String())
	begun := time.Now()
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	// One after the other they would need twice as long as this.
	if took := time.Since(begun); took > servers*each/2 {
		t.Errorf("took %s", took)
	}
	for _, s := range list.Servers {
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
	}
}

// A server that exits at its first starts is used once it does not: each use that
// finds it down is a start of its own, and says why it failed.
func TestServerThatCrashesAtFirst(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	const crashes = 2
	h := open(t, fmt.Sprintf("[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"crash-n\", \"-n\", \"%d\", \"-state\", %q]\n",
		2*crashes, state)) // the adapter tries each time without the probe, too
	for i := range crashes {
		f := mustFail(t, h, host.Request{Tool: "n/echo", Arguments: json.RawMessage(hi), Retry: host.RetryNever})
		if f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "exit status 1") || !strings.Contains(f.Message, "not yet") {
			t.Errorf("start %d: %s, %s: %v", i+1, f.Class, f.Delivery, f)
		}
	}
	mustCall(t, h, "n/echo", hi)
	if b, err := os.ReadFile(state + ".starts"); err != nil || len(b) != 2*crashes+1 {
		t.Errorf("%d starts, %v, want %d", len(b), err, 2*crashes+1)
	}
}
