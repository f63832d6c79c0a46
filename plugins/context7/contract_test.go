package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/fakeapi"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// TestContract holds the program against what hosts rely on.
func TestContract(t *testing.T) {
	t.Parallel()
	adaptertest.Verify(t, pluginPath, check.Options{
		Config: json.RawMessage(`{"api_url":"${UPSTREAM}/api","cache_ttl":"0s"}`), Upstream: fakeapi.Start(t), Patience: 4,
		Call: check.Call{Tool: "lookup", Arguments: json.RawMessage(`{"library":"next.js","query":"q"}`)},
	})
}

// TestDescription has the times of a call and of a start, and what is a secret.
func TestDescription(t *testing.T) {
	out, err := exec.Command(pluginPath, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := gjson.ParseBytes(out)
	if call, start := d.Get("defaultTimeout").Str, d.Get("defaultStartTimeout").Str; call != "30s" || start != "2m0s" {
		t.Errorf("a call has %q, a start %q", call, start)
	}
	if !d.Get("configSchema.properties.api_key.x-collet-secret").Bool() {
		t.Error("api_key is not marked as a secret")
	}
}
