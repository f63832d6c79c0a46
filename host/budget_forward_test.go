package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// A resource and a prompt over the budget are errors that say where the rest is, which
// whoever asked for them can read, and nobody else.
func TestForwardedOverBudget(t *testing.T) {
	t.Parallel()
	url, _, _, h := twoServers(t)
	for _, legacy := range []bool{false, true} {
		c, other := as(t, url, wideToken, mcp.Options{SkipProbe: legacy}), as(t, url, narrowToken, mcp.Options{})
		read := func(c *mcp.Client, arguments string) string {
			raw, err := c.CallTool(patient(t), "result_read", json.RawMessage(arguments), mcp.RequestOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		if _, err := c.ListTools(patient(t)); err != nil { // until all have started
			t.Fatal(err)
		}
		for _, r := range []struct{ method, params, lines string }{
			{"resources/read", `{"uri":"collet:beta/file:///beta/big"}`, "beta line\nbeta line\n"},
			{"prompts/get", `{"name":"beta__prompt_beta","arguments":{"big":"1"}}`, strings.Repeat("beta ", 20)},
		} {
			raw, err := c.Request(patient(t), r.method, json.RawMessage(r.params), mcp.RequestOptions{})
			f, ok := err.(*failure.Failure)
			if !ok || f.UpstreamCode != -32010 {
				t.Fatalf("legacy %v: %s: %.200s %v", legacy, r.method, raw, err)
			}
			data := gjson.ParseBytes(f.UpstreamData)
			handle := data.Get("handle").String()
			if data.Get("code").String() != "over-budget" || data.Get("server").String() != "beta" || data.Get("method").String() != r.method ||
				data.Get("budget").Int() != 16<<10 || data.Get("bytes").Int() < 16<<10 || !strings.Contains(f.Message, handle) || handle == "" {
				t.Errorf("legacy %v: %s: %s, %s", legacy, r.method, f.Message, data)
			}
			got := gjson.Get(read(c, `{"handle":"`+handle+`","lines":"1-2"}`), "structuredContent.data").String()
			if !strings.HasPrefix(got, r.lines) {
				t.Errorf("legacy %v: %s: the first lines are %.60q", legacy, r.method, got)
			}
			if got := read(other, `{"handle":"`+handle+`"}`); strings.Contains(got, "beta") {
				t.Errorf("somebody else reads %.100s", got)
			}
		}
		if raw, err := c.Request(patient(t), "resources/read", json.RawMessage(`{"uri":"collet:beta/file:///beta"}`), mcp.RequestOptions{}); err != nil || !strings.Contains(string(raw), "contents of beta") {
			t.Errorf("a small one: %s %v", raw, err)
		}
	}
	// A program gets what there is.
	raw, err := h.Forward(patient(t), host.ForwardRequest{Server: "beta", Method: "resources/read", Params: json.RawMessage(`{"uri":"file:///beta/big"}`)})
	if err != nil || len(raw) < 100_000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}
