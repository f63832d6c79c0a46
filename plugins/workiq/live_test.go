package main

import (
	"os"
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/launch"
)

// TestLive asks the real Work IQ, for whoever has accepted its licence and is signed
// in. It never runs without COLLET_LIVE_TESTS=1, and accepts nothing.
func TestLive(t *testing.T) {
	if os.Getenv("COLLET_LIVE_TESTS") != "1" {
		t.Skip("COLLET_LIVE_TESTS=1 asks the real Work IQ")
	}
	p := &plugin{Plugin: adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: os.Environ()})}
	if err := p.Settings(t, config{Command: []string{"workiq", "mcp"}}); err != nil {
		t.Fatal(err)
	}
	got, err := p.call(t, "ask", `{"question":"What is today's date? Answer with the date alone."}`)
	if err != nil || got.Get("structuredContent.answer").Str == "" {
		t.Errorf("ask: %s, %v", got.Raw, err)
	}
}
