package host_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

const oddNames = `
[host]
exposure = "direct"
[servers.n]
command = "${BUILT}/faultserver"
args = ["-fault", "names"]
[servers.my_n]
command = "${BUILT}/faultserver"
args = ["-fault", "names"]
[servers.a]
command = "${BUILT}/faultserver"
args = ["-fault", "names"]
`

// Whatever servers call their tools, a client gets names that every model's interface
// takes, each once, the same every time; and what it calls by one reaches that very
// tool of that server, by its own name.
func TestFrontOddNames(t *testing.T) {
	t.Parallel()
	var before []string
	for _, run := range []struct {
		toml string
		opt  mcp.Options
	}{
		{oddNames, mcp.Options{}},
		{oddNames + "[servers.b]\ncommand = \"${BUILT}/faultserver\"\nexposure = \"hidden\"\n", mcp.Options{SkipProbe: true}},
	} {
		h := open(t, run.toml)
		c := as(t, endpoint(t, h, host.HTTPOptions{}), "none", run.opt)
		tools, err := c.ListTools(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		listing, err := h.Tools(patient(t), host.Query{})
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]host.Tool{}
		for _, tool := range listing.Tools {
			own[tool.WireName] = tool
		}
		var names []string
		odd := 0
		for _, tool := range tools {
			n := gjson.GetBytes(tool, "name").String()
			if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(n) || slices.Contains(names, n) {
				t.Errorf("listed: %q", n)
			}
			names = append(names, n)
			is, ok := own[n]
			if !ok || !strings.Contains(is.Name, "/") {
				continue // a tool of the host's own
			}
			_, tool, _ := strings.Cut(is.Name, "/")
			if is.Description != "" {
				continue // no odd one
			}
			odd++
			raw, err := c.CallTool(patient(t), n, json.RawMessage(`{"text":"x"}`), mcp.RequestOptions{})
			if err != nil || !strings.HasPrefix(gjson.GetBytes(raw, "content.0.text").String(), tool+" ") {
				t.Errorf("%s is %q of %s, and answers %s %v", n, tool, is.Server, raw, err)
			}
		}
		if odd != 3*24 {
			t.Errorf("%d odd tools", odd)
		}
		if before != nil && !slices.Equal(before, names) {
			t.Errorf("another host has other names:\n%q\n%q", names, before)
		}
		before = names
	}
}
