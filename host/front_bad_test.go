package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// Servers that fail in their own ways keep nobody from the tools of the others, and
// are named where a model looks for theirs.
func TestBadServersFailAlone(t *testing.T) {
	t.Parallel()
	config := "[host]\nconnect_wait = \"2s\"\nexposure = \"deferred\"\n[servers.good]\ncommand = \"${BUILT}/faultserver\"\nexposure = \"direct\"\n" +
		"[servers.absent]\ncommand = \"${BUILT}/no-such-file\"\n[servers.closed]\nurl = \"http://127.0.0.1:1/mcp\"\n[servers.unset]\ncommand = \"${NO_SUCH_VARIABLE}\"\n"
	faults := []string{"initnever", "init-error", "exit0", "crash-init", "crash-afterlist", "nolist", "endlesscursor", "version-bad", "banner", "bom"}
	for _, fault := range faults {
		config += fmt.Sprintf("[servers.%s]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", %q]\n", fault, fault)
	}
	h := open(t, config)
	url := guarded(t, h)
	for _, opt := range []mcp.Options{{}, {SkipProbe: true}} {
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := c.ListTools(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		good := 0
		for _, tool := range tools {
			if strings.HasPrefix(gjson.GetBytes(tool, "name").String(), "good__") {
				good++
			}
		}
		if good == 0 || len(tools) < good+2 { // the bridge tools are there whoever is down
			t.Errorf("%d tools, %d of the good server", len(tools), good)
		}
		for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
			if _, err := c.Request(patient(t), method, nil, mcp.RequestOptions{}); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		raw, err := c.CallTool(patient(t), "tool_search", []byte(`{"query":"echo"}`), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pending := gjson.GetBytes(raw, "structuredContent.pending.#.server").String()
		for _, server := range []string{"absent", "closed", "unset", "initnever", "init-error", "exit0", "crash-init"} {
			if !strings.Contains(pending, `"`+server+`"`) {
				t.Errorf("a search does not say that %s is missing: %s", server, pending)
			}
		}
		if strings.Contains(pending, `"good"`) {
			t.Errorf("the good server is missing: %s", pending)
		}
		if err := c.Close(patient(t)); err != nil {
			t.Error(err)
		}
	}
}
