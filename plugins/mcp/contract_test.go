package main

import (
	"encoding/json"
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// TestContract holds the generic adapter against all of the contract, with an MCP
// server that plays every fault.
func TestContract(t *testing.T) {
	t.Parallel()
	r := adaptertest.Verify(t, pluginPath, check.Options{Config: json.RawMessage(`{"url":"${UPSTREAM}/mcp"}`), Patience: 4})
	if n := r.Count(check.Passed); n != len(check.Names()) {
		t.Errorf("only %d passed", n)
	}
}
