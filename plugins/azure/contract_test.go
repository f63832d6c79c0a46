package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/azure/internal/fakelearn"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// TestContract holds the program against what hosts rely on, less what does not hold
// for one of Learn's own tools: while Learn is out of reach nobody knows that there are
// any, and their arguments are Learn's to judge.
func TestContract(t *testing.T) {
	t.Parallel()
	checks := []string{"describe", "identity", "config-schema", "no-cookie", "stdout", "bad-config", "configure", "list-tools", "events", "cancel", "concurrent",
		"large-arguments", "secrets", "lease", "shutdown", "unknown-fields", "environment", "two-processes", "stopped"}
	adaptertest.Verify(t, pluginPath, check.Options{
		Config: json.RawMessage(`{"docs_only":true,"learn_url":"${UPSTREAM}/api/mcp"}`), Upstream: fakelearn.Start(t), Patience: 4, Only: checks,
		Call: check.Call{Tool: "microsoft_docs_search", Arguments: json.RawMessage(`{"query":"q"}`)},
	})
}

// TestDescription has the times of a call and of a start.
func TestDescription(t *testing.T) {
	out, err := exec.Command(pluginPath, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := gjson.ParseBytes(out)
	if call, start := d.Get("defaultTimeout").Str, d.Get("defaultStartTimeout").Str; call != "30s" || start != "2m0s" {
		t.Errorf("a call has %q, a start %q", call, start)
	}
}
