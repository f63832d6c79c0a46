package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/tidwall/gjson"
)

// protectedPeer is what is behind the tokens: one tool that tells what it was sent, and
// one that fails with it.
var protectedPeer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := gjson.GetBytes(body, "id").Raw
	if id == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	said, _ := json.Marshal("it was sent " + r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/json")
	answer := func(result string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, result) }
	switch gjson.GetBytes(body, "method").String() {
	case "server/discover":
		answer(`"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"protected","version":"1"}}`)
	case "tools/list":
		answer(`"result":{"tools":[{"name":"tell","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		if gjson.GetBytes(body, "params.name").String() == "fail" {
			answer(`"error":{"code":-32000,"message":` + string(said) + `}`)
			return
		}
		answer(`"result":{"content":[{"type":"text","text":` + string(said) + `}]}`)
	default:
		answer(`"error":{"code":-32601,"message":"method not found"}`)
	}
})
