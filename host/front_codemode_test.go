package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

const codemodeServers = `
[servers.n]
command = "${BUILT}/faultserver"
[servers.n.tool_exposure]
"x_env" = "hidden"
[servers.m]
command = "${BUILT}/faultserver"
`

// script runs a script through the codemode tool of a front.
func script(t *testing.T, c *mcp.Client, code string, more ...string) gjson.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range more {
		args = append(args[:len(args)-1], ","+m+"}"...)
	}
	raw, err := c.CallTool(patient(t), "codemode", args, mcp.RequestOptions{})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return gjson.ParseBytes(raw)
}

// eras are the clients of both.
var eras = map[string]mcp.Options{"modern": {}, "legacy": {SkipProbe: true}}

// A script runs in one call; its outcome is there as text and as an object.
func TestCodemode(t *testing.T) {
	for era, opt := range eras {
		t.Run(era, func(t *testing.T) {
			c := face(t, codemodeServers, opt)
			r := script(t, c, "```js\nconst said = await Promise.all([tools.n.echo({text: 'a'}), tools.m.echo({text: 'b'})]);\ntext(said);\nconsole.log('x');\nreturn said.length\n```")
			if got := r.Get("structuredContent.value").Raw; got != "2" || r.Get("isError").Bool() || r.Get("structuredContent.calls.#").Int() != 2 {
				t.Errorf("%s", r)
			}
			if text := r.Get("content.0.text").String(); !strings.HasPrefix(text, "Script completed in ") || !strings.Contains(text, ", 2 calls\n") || r.Get("content.#").Int() != 1 {
				t.Errorf("%s", r)
			}
			r = script(t, c, "const x = 1;\nthrow new Error('no' + x)")
			if !r.Get("isError").Bool() || r.Get("structuredContent.status").String() != "failed" || r.Get("structuredContent.error.line").Int() != 2 || !strings.HasPrefix(r.Get("content.0.text").String(), "Script failed in ") {
				t.Errorf("%s", r)
			}
		})
	}
}
