package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/websearch/internal/fakesearch"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

// TestContract holds the program against what hosts rely on: a search at one service,
// and the tool that answers in part.
func TestContract(t *testing.T) {
	opt := check.Options{
		Config: json.RawMessage(`{"exa":{"url":"${UPSTREAM}","key":"` + fakesearch.Key + `"}}`), Upstream: fakesearch.Start(t, "exa"), Patience: 4,
		Call: check.Call{Tool: "search", Arguments: json.RawMessage(`{"query":"q"}`)},
	}
	adaptertest.Verify(t, pluginPath, opt)
	opt.Call = check.Call{Tool: "research_company", Arguments: json.RawMessage(`{"company":"Collet"}`)}
	opt.Only = []string{"events", "cancel", "concurrent", "faults"}
	adaptertest.Verify(t, pluginPath, opt)
}

// TestDescription has the times of a call and of a start.
func TestDescription(t *testing.T) {
	out, err := exec.Command(pluginPath, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := gjson.ParseBytes(out)
	if call, start := d.Get("defaultTimeout").Str, d.Get("defaultStartTimeout").Str; call != "30s" || start != "" {
		t.Errorf("a call has %q, a start %q", call, start)
	}
}
