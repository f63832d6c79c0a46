package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// Who gives a call up, by hand or by its deadline, gives it up at the server, too:
// with a notification, or over HTTP by the rules of 2026-07-28 by hanging up.
func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]string{"stdio": "", "stdio, modern": "modern-only", "http": "", "http, modern": "modern-only"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			config := fmt.Sprintf("[servers.h]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-log\", %q, \"-fault\", %q]\n", log, faults)
			hangsUp := false
			if strings.HasPrefix(name, "http") {
				s := startSite(t, faults)
				log, config = s.log, fmt.Sprintf("[servers.h]\nurl = %q\n", s.url)
				hangsUp = faults != ""
			}
			h := open(t, config)

			ctx, cancel := context.WithCancel(patient(t))
			_, err := h.Call(ctx, host.Request{Tool: "h/t_progress_forever", OnProgress: func(host.Progress) { cancel() }})
			if f, ok := err.(*host.Failure); !ok || f.Class != failure.Canceled {
				t.Fatalf("canceled: %v", err)
			}
			awaitCanceled(t, log, "t_progress_forever", hangsUp)

			_, err = h.Call(patient(t), host.Request{Tool: "h/t_hang", Timeout: time.Second, Retry: host.RetryNever})
			if f, ok := err.(*host.Failure); !ok || f.Class != failure.Timeout || f.Delivery != failure.DeliveryUnknown {
				t.Fatalf("out of time: %v", err)
			}
			awaitCanceled(t, log, "t_hang", hangsUp)
		})
	}
}

// awaitCanceled waits until a faultserver's log says that the call of that tool was
// canceled. The log is a file of another process, so all there is is to look.
func awaitCanceled(t *testing.T, log, tool string, hangsUp bool) {
	t.Helper()
	ctx := patient(t)
	for {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if canceled(string(b), tool, hangsUp) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the server has not heard of it:\n%s", b)
		}
	}
}

func canceled(log, tool string, hangsUp bool) bool {
	id := ""
	for line := range strings.Lines(log) {
		entry := gjson.Parse(line)
		m := entry.Get("message")
		switch {
		case m.Get("params.name").String() == tool:
			id = m.Get("id").Raw
		case id == "":
		case hangsUp && entry.Get("event").String() == "closed" && (m.Raw == id || entry.Get("text").String() == id):
			return true
		case !hangsUp && m.Get("method").String() == "notifications/cancelled" && m.Get("params.requestId").Raw == id:
			return true
		}
	}
	return false
}
