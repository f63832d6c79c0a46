package main

import (
	"encoding/json"
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

// The rule is generous: what is checked is whether it answers, not what it refuses.
func TestContract(t *testing.T) {
	t.Parallel()
	r := adaptertest.Verify(t, pluginPath, check.Options{
		Config: json.RawMessage(`{"rules":[{"tools":"*","per_minute":100000,"burst":1000}]}`), Patience: 4,
	})
	if r.Count(check.Skipped) > 0 || r.Name != "ratelimit" {
		t.Error(r.Summary())
	}
}
