package adaptertest

import (
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// Verify holds a plugin against the contract, as `collet plugins verify` does, and
// fails the test for each rule that is broken. Checks that are skipped are logged.
// opt needs no Path where path has one.
//
//	adaptertest.Verify(t, pluginPath, check.Options{
//		Config:   json.RawMessage(`{"url":"${UPSTREAM}"}`),
//		Upstream: fake, // an http.Handler; an MCP server when left out
//		Call:     check.Call{Tool: "search", Arguments: json.RawMessage(`{"query":"q"}`)},
//	})
func Verify(t testing.TB, path string, opt check.Options) *check.Report {
	t.Helper()
	if path != "" {
		opt.Path = path
	}
	r, err := check.Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		switch o.Status {
		case check.Failed:
			t.Errorf("%v", o)
		case check.Skipped:
			t.Logf("%v", o)
		}
	}
	t.Log(r.Summary())
	return r
}
