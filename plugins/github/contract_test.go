package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// TestContract holds the program against what hosts rely on.
func TestContract(t *testing.T) {
	adaptertest.Verify(t, pluginPath, check.Options{
		Config: json.RawMessage(`{"url":"${UPSTREAM}","token":"ghp_fine","tools":["get_me"]}`), Upstream: fake(t), Patience: 4,
		Call: check.Call{Tool: "get_me", Arguments: json.RawMessage(`{}`)},
	})
}

// TestDescription has the times of a call and of a start, and what is a secret.
func TestDescription(t *testing.T) {
	out, err := exec.Command(pluginPath, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := gjson.ParseBytes(out)
	if call, start := d.Get("defaultTimeout").Str, d.Get("defaultStartTimeout").Str; call != "1m0s" || start != "" {
		t.Errorf("a call has %q, a start %q", call, start)
	}
	if !d.Get("configSchema.properties.token.x-collet-secret").Bool() {
		t.Error("token is not marked as a secret")
	}
}
