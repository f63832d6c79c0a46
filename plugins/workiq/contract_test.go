package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// TestContract holds the plugin against what of the contract needs no upstream over
// HTTP. The licence is not accepted yet when it begins.
func TestContract(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	name := "workiq"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, name), "./internal/fakeworkiq").CombinedOutput(); err != nil {
		t.Fatalf("build the fake: %v\n%s", err, out)
	}
	adaptertest.Verify(t, pluginPath, check.Options{
		Config: json.RawMessage(`{"accept_eula":true}`), Env: []string{"PATH=" + bin}, Patience: 4,
		Call: check.Call{Tool: "ask", Arguments: json.RawMessage(`{"question":"who?"}`)},
	})
}
