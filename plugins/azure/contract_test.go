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

// TestContract holds the program against what hosts rely on: its own tool, which
// answers that Learn is not available, and is there when Learn is not.
func TestContract(t *testing.T) {
	t.Parallel()
	adaptertest.Verify(t, pluginPath, check.Options{
		Config: json.RawMessage(`{"docs_only":true,"learn_url":"${UPSTREAM}/api/mcp"}`), Upstream: fakelearn.Start(t), Patience: 4,
		Call: check.Call{Tool: "documentation", Arguments: json.RawMessage(`{"query":"q"}`)},
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
