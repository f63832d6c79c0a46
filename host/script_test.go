package host_test

import (
	"testing"

	"github.com/collet-dev/collet/host"
)

// run runs a script that must at least be run.
func runScript(t *testing.T, h *host.Host, s host.ScriptRequest) host.ScriptOutcome {
	t.Helper()
	out, err := h.Run(patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A script's calls go through the pipeline: names, arguments and failures are those of
// every other call.
func TestScript(t *testing.T) {
	h := open(t, `
[servers.hello]
plugin = "hello"
`)
	out := runScript(t, h, host.ScriptRequest{Source: `
		const greeting = await tools.hello.greet({name: "world"});
		const codes = [];
		for (const wrong of [() => tools.hello.greet({}), () => call("hello/nothing", {}), () => call("nowhere/greet", {})]) {
			await wrong().catch((e) => codes.push(e.code));
		}
		return {greeting, codes};
	`})
	if out.Status != "completed" {
		t.Fatalf("%+v", out.Error)
	}
	if got, want := string(out.Value), `{"greeting":"Hello, world!","codes":["invalid_arguments","not_found","not_found"]}`; got != want {
		t.Errorf("returned %s, want %s", got, want)
	}
}
