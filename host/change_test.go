package host_test

import (
	"encoding/json"
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

const faultyToml = "[servers.n]\ncommand = \"${BUILT}/faultserver\"\n"

// x_grown is there until the server, which announces it only while it runs, is
// another.
func TestAWithdrawnToolSaysSo(t *testing.T) {
	h := watch(t, faultyToml)
	mustCall(t, h.Host, "n/x_grow", `{}`)
	await(t, h.lists, "n")
	await(t, h.lists, "n")
	mustCall(t, h.Host, "n/x_grown", `{}`)
	mustFail(t, h.Host, host.Request{Tool: "n/x_exit"})
	mustCall(t, h.Host, "n/echo", `{"text":"x"}`)
	await(t, h.lists, "n")
	f := mustFail(t, h.Host, host.Request{Tool: "n/x_grown"})
	if f.Class != failure.NotFound || f.Delivery != failure.NotSent {
		t.Errorf("%v %v", f.Class, f.Delivery)
	}
	for _, want := range []string{"withdrew it at " + time.Now().Format("15:"), `it was "the tool x_grown"`, "x_grow?"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("%q lacks %q", f.Message, want)
		}
	}
	if f := mustFail(t, h.Host, host.Request{Tool: "n/x_grownn"}); strings.Contains(f.Message, "withdrew") {
		t.Errorf("%q", f.Message)
	}
	mustCall(t, h.Host, "n/x_grow", `{}`)
	await(t, h.lists, "n")
	mustCall(t, h.Host, "n/x_grown", `{}`)
}

// A schema that its server rewrote holds for the next call.
func TestARewrittenToolIsCheckedAnew(t *testing.T) {
	h := watch(t, faultyToml)
	mustCall(t, h.Host, "n/rug", `{"to":"you"}`)
	await(t, h.lists, "n")
	mustCall(t, h.Host, "n/x_rug", `{}`)
	await(t, h.lists, "n")
	if f := mustFail(t, h.Host, host.Request{Tool: "n/rug", Arguments: json.RawMessage(`{"to":"you"}`)}); f.Class != failure.InvalidArguments || !strings.Contains(f.Message, "secrets") {
		t.Errorf("%v", f)
	}
}

// logged are the messages a faultserver got of that method.
func logged(t *testing.T, file, method string) (found []gjson.Result) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if m := gjson.Get(line, "message"); m.Get("method").Str == method {
			found = append(found, m)
		}
	}
	return found
}

// A deadline cancels the request upstream, and the server lives on.
func TestATimeoutIsCanceledUpstream(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	h := watch(t, fmt.Sprintf("[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-log\", %q]\nmax_timeout = \"2s\"\n", log))
	mustCall(t, h.Host, "n/echo", `{"text":"x"}`)
	pid := pidOf(t, h.Host, "n")
	for tool, says := range map[string]string{"n/t_hang": "(timeout)", "n/t_progress_forever": "(max_timeout)"} {
		f := mustFail(t, h.Host, host.Request{Tool: tool, Timeout: time.Second})
		if f.Class != failure.Timeout || f.Delivery != failure.DeliveryUnknown || !strings.Contains(f.Message, says) || !strings.Contains(f.Message, "outcome unknown") {
			t.Errorf("%s: %v %v %q", tool, f.Class, f.Delivery, f.Message)
		}
	}
	mustCall(t, h.Host, "n/t_progress", `{"ms":1500,"step":100}`) // and so comes after what was sent before
	if now := pidOf(t, h.Host, "n"); now != pid {
		t.Error("a deadline has ended the process")
	}
	calls, canceled := map[string]string{}, map[string]bool{}
	for _, m := range logged(t, log, "tools/call") {
		calls[m.Get("params.name").Str] = m.Get("id").Raw
	}
	for _, m := range logged(t, log, "notifications/cancelled") {
		canceled[m.Get("params.requestId").Raw] = true
	}
	if len(canceled) != 2 || !canceled[calls["t_hang"]] || !canceled[calls["t_progress_forever"]] {
		t.Errorf("calls %v, canceled %v", calls, canceled)
	}
}

// What may have run is never run again; what its adapter or a trusted server
// calls idempotent is.
func TestEffectsHappenOnce(t *testing.T) {
	for _, c := range []struct {
		tool, keys string
		ok         bool
		count      string
	}{
		{"s_count_drop", "", false, "1"},
		{"s_count_drop", "trust_hints = true\n", false, "1"},
		{"s_count_once", "", false, "1"},
		{"s_count_once", "trust_hints = true\n", true, "2"},
		{"s_count_once", "trust_hints = true\nretry = \"never\"\n", false, "1"},
		{"s_count_drop", "retry = \"always\"\n", false, "2"},
	} {
		h := open(t, fmt.Sprintf("[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-state\", %q]\n%s", filepath.Join(t.TempDir(), "count"), c.keys))
		res, err := h.Call(patient(t), host.Request{Tool: "n/" + c.tool})
		if (err == nil) != c.ok || err == nil && res.Attempts != 2 {
			t.Errorf("%s %q: %+v %v", c.tool, c.keys, res, err)
		}
		if f, ok := err.(*host.Failure); ok && (f.Delivery != failure.DeliveryUnknown || strings.Contains(f.Message, "outcome unknown") == strings.Contains(c.keys, "trust") && c.tool == "s_count_once") {
			t.Errorf("%s %q: %v %q", c.tool, c.keys, f.Delivery, f.Message)
		}
		if res := mustCall(t, h, "n/s_read", `{}`); gjson.GetBytes(res.JSON, "content.0.text").Str != c.count {
			t.Errorf("%s %q: counted %s, want %s", c.tool, c.keys, res.JSON, c.count)
		}
	}
}

// max_concurrent holds calls back, and lets them through in turn.
func TestMaxConcurrent(t *testing.T) {
	h := open(t, faultyToml+"max_concurrent = 1\n")
	mustCall(t, h, "n/echo", `{"text":"x"}`)
	begun, done := time.Now(), make(chan error, 3)
	for range cap(done) {
		go func() {
			_, err := h.Call(patient(t), host.Request{Tool: "n/t_sleep", Arguments: json.RawMessage(`{"ms":200}`)})
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took < 600*time.Millisecond {
		t.Errorf("three calls of 200 ms in a row took %v", took)
	}
}
