package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

// respondent is a client's side that answers everything, and remembers what it
// was asked.
type respondent struct {
	mu    sync.Mutex
	asked []string
}

func (r *respondent) ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, method)
	switch method {
	case "elicitation/create":
		return json.RawMessage(`{"action":"accept","content":{"name":"Ann <& Co>","username":"ann","email":"a@example.com","response":"yes"}}`), nil
	case "sampling/createMessage":
		return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"said by nobody"},"model":"none"}`), nil
	}
	return json.RawMessage(`{"roots":[{"uri":"file:///here","name":"here"}]}`), nil
}

// The reference server, which asks by the rules of the initialize era, over its
// three transports, and the Go SDK's, which asks by those of 2026-07-28.
func TestStrangersAskTheCaller(t *testing.T) {
	t.Parallel()
	everything := npmDir(t) + "/@modelcontextprotocol/server-everything/dist/index.js"
	config := fmt.Sprintf("[servers.stdio]\ncommand = \"node\"\nargs = [%q]\n[servers.go]\ncommand = %q\n", everything, goSDKServer(t, "everything-server"))
	for _, transport := range []string{"streamableHttp", "sse"} {
		addr, port := freeAddr(t)
		cmd := exec.Command("node", everything, transport)
		cmd.Env = append(cmd.Environ(), "PORT="+port)
		p := startProgram(t, addr, cmd)
		p.await()
		path := map[string]string{"streamableHttp": "mcp", "sse": "sse"}[transport]
		config += fmt.Sprintf("[servers.%s]\nurl = \"http://%s/%s\"\n", path, addr, path)
	}
	h := open(t, config)
	for _, c := range []struct{ tool, args, asks, says string }{
		{"stdio/trigger-elicitation-request", `{}`, "elicitation/create", "Ann <& Co>"},
		{"stdio/trigger-sampling-request", `{"prompt":"hi","maxTokens":7}`, "sampling/createMessage", "said by nobody"},
		{"mcp/trigger-elicitation-request", `{}`, "elicitation/create", "Ann <& Co>"},
		{"mcp/trigger-sampling-request", `{"prompt":"hi","maxTokens":7}`, "sampling/createMessage", "said by nobody"},
		{"sse/trigger-elicitation-request", `{}`, "elicitation/create", "Ann <& Co>"},
		{"go/test_input_required_result_elicitation", `{}`, "elicitation/create", ""},
		{"go/test_input_required_result_sampling", `{}`, "sampling/createMessage", ""},
		{"go/test_input_required_result_multi_round", `{}`, "elicitation/create", ""},
	} {
		t.Run(c.tool, func(t *testing.T) {
			server, tool, _ := strings.Cut(c.tool, "/")
			// The reference server adds tools once it knows what its client can do.
			eventually(t, h, "listed", func() bool {
				l, err := h.Tools(patient(t), host.Query{Pattern: server + "/" + tool})
				return err == nil && len(l.Tools) == 1
			})
			var r respondent
			res, err := h.Call(patient(t), host.Request{Tool: c.tool, Arguments: json.RawMessage(c.args), Meta: json.RawMessage(capable), Ask: r.ask})
			if err != nil {
				t.Fatal(err)
			}
			if res.IsError || !strings.Contains(gjson.GetBytes(res.JSON, "content.#.text").String(), c.says) || len(r.asked) == 0 || r.asked[0] != c.asks {
				t.Errorf("asked %q, answered %s", r.asked, res.JSON)
			}
		})
	}
}
