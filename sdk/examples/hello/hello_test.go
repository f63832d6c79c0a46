package main

import (
	"os"
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
	"github.com/collet-dev/collet/sdk/launch"
)

var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

func TestContract(t *testing.T) {
	t.Parallel()
	if r := adaptertest.Verify(t, pluginPath, check.Options{Patience: 4}); r.Count(check.Passed) != 20 {
		t.Errorf("%s", r.Summary())
	}
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	p := adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: launch.ShortEnv(os.Environ())})
	if err := p.Settings(t, config{}); err != nil {
		t.Fatal(err)
	}
	adaptertest.Transcript(t, p, "testdata/greet.jsonl")
}
