package host_test

import (
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// What [host.codemode] says counts for every script that does not say otherwise, and
// bounds what a model may ask for.
func TestScriptLimitsAreConfigured(t *testing.T) {
	t.Parallel()
	h := open(t, "[host]\nresponse_budget = \"64KiB\"\n[host.codemode]\ntimeout = \"1s\"\nmax_timeout = \"2s\"\nheap = \"16MiB\"\ncalls = 2\noutput_tokens = 200\nmax_output_tokens = 400\n[servers.n]\ncommand = \"${BUILT}/faultserver\"\n")
	const calls = `for (let i = 0; i < 3; i++) await tools.n.echo({text: "x"})`
	const memory = `const all = []; for (let i = 0; i < 150; i++) all.push(new Array(1e4).fill(i)); return all.length` // 24 MB
	if out := runScript(t, h, host.ScriptRequest{Source: `for (;;) ;`}); out.Error == nil || !strings.Contains(out.Error.Message, "after 1s") {
		t.Errorf("%+v", out.Error)
	}
	if out := runScript(t, h, host.ScriptRequest{Source: calls}); out.Error == nil || out.Error.Code != "limit" || len(out.Calls) != 2 {
		t.Errorf("%+v %+v", out.Error, out.Calls)
	}
	if out := runScript(t, h, host.ScriptRequest{Source: memory, Limits: host.ScriptLimits{Timeout: patience}}); out.Error == nil || out.Error.Kind != host.ScriptMemory {
		t.Errorf("%+v", out.Error)
	}
	more := host.ScriptLimits{Timeout: patience, Heap: 64 << 20, Calls: 3}
	for _, source := range []string{calls, memory} {
		if out := runScript(t, h, host.ScriptRequest{Source: source, Limits: more}); out.Error != nil {
			t.Errorf("with %+v: %+v", more, out.Error)
		}
	}
	c := faceOf(t, h, mcp.Options{})
	for arguments, says := range map[string]string{`"timeout_ms":null`: "after 1s", `"timeout_ms":600000`: "after 2s"} {
		if r := script(t, c, `for (;;) ;`, arguments); !strings.Contains(r.Get("structuredContent.error.message").String(), says) {
			t.Errorf("%s: %s", arguments, r)
		}
	}
	for arguments, most := range map[string]int{`"max_output_tokens":null`: 800, `"max_output_tokens":50000`: 1600} {
		if got := len(script(t, c, `return "x".repeat(30000)`, arguments).Get("structuredContent.output.0.text").String()); got < most/2 || got > most+100 {
			t.Errorf("%s: %d bytes", arguments, got)
		}
	}
}
