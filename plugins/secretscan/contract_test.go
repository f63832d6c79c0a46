package main

import (
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

func TestContract(t *testing.T) {
	t.Parallel()
	r := adaptertest.Verify(t, pluginPath, check.Options{Patience: 4})
	if r.Count(check.Skipped) > 0 || r.Name != "secretscan" {
		t.Error(r.Summary())
	}
}
