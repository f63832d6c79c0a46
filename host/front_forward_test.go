package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// Clients of both eras meet servers of both: what a prompt asks reaches the client
// by the rules of its own era, and who watches a resource hears of it.
func TestFrontBetweenEras(t *testing.T) {
	t.Parallel()
	url := guarded(t, open(t, fmt.Sprintf("[servers.old]\ncommand = \"node\"\nargs = [%q]\nexposure = \"direct\"\n[servers.new]\ncommand = %q\n",
		npmDir(t)+"/@modelcontextprotocol/server-everything/dist/index.js", goSDKServer(t, "everything-server"))))
	for name, legacy := range map[string]bool{"modern": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			asked, news := make(chan string, 10), make(chan string, 1000)
			c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, mcp.Options{
				SkipProbe:    legacy,
				Capabilities: json.RawMessage(`{"elicitation":{}}`),
				OnRequest: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
					asked <- method
					return json.RawMessage(`{"action":"accept","content":{"context":"of things","name":"Ann"}}`), nil
				},
				OnNotification: func(method string, params json.RawMessage) {
					if method == "notifications/resources/updated" {
						select {
						case news <- gjson.GetBytes(params, "uri").String():
						default:
						}
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
			request := func(method, params string) string {
				t.Helper()
				raw, err := c.Request(patient(t), method, json.RawMessage(params), mcp.RequestOptions{})
				if err != nil {
					t.Fatalf("%s %s: %v", method, params, err)
				}
				return string(raw)
			}

			const prompt = `{"name":"new__test_input_required_result_prompt"`
			got := request("prompts/get", prompt+`}`)
			if !legacy {
				r := gjson.Parse(got)
				if r.Get("resultType").String() != "input_required" {
					t.Fatalf("the prompt says %s", got)
				}
				got = request("prompts/get", prompt+answersTo(r)+`}`)
			} else if method := <-asked; method != "elicitation/create" {
				t.Errorf("asked %s", method)
			}
			if !strings.Contains(got, "of things") {
				t.Errorf("the prompt says %s", got)
			}

			if _, err := c.ListTools(patient(t)); err != nil { // until all have started
				t.Fatal(err)
			}
			raw, err := c.CallTool(patient(t), "old__trigger-elicitation-request", nil, mcp.RequestOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r := gjson.ParseBytes(raw); r.Get("resultType").String() == "input_required" && !legacy {
				got = request("tools/call", `{"name":"old__trigger-elicitation-request","arguments":{}`+answersTo(r)+`}`)
			} else {
				got = string(raw)
			}
			if !strings.Contains(got, "Ann") {
				t.Errorf("the tool says %s", got)
			}

			const uri = "collet:new/test://watched-resource"
			request("resources/subscribe", `{"uri":"`+uri+`"}`)
			select {
			case got := <-news:
				if got != uri {
					t.Errorf("news of %s", got)
				}
			case <-patient(t).Done():
				t.Error("no news of the resource")
			}
			request("resources/unsubscribe", `{"uri":"`+uri+`"}`)

			for _, unknown := range []struct{ method, params string }{
				{"prompts/get", `{"name":"new__nothing"}`},
				{"prompts/get", `{"name":"test_simple_prompt"}`},
				{"resources/read", `{"uri":"collet:nobody/x://y"}`},
				{"resources/read", `{"uri":"test://static-text"}`},
				{"completion/complete", `{"ref":{"type":"ref/prompt","name":"nothing"},"argument":{"name":"a","value":""}}`},
			} {
				raw, err := c.Request(patient(t), unknown.method, json.RawMessage(unknown.params), mcp.RequestOptions{})
				if code := codeOf(err); code != -32602 && !(legacy && unknown.method == "resources/read" && code == -32002) {
					t.Errorf("%s %s: %s %v", unknown.method, unknown.params, raw, err)
				}
			}
		})
	}
}

// answersTo are the parameters that answer what a result asks.
func answersTo(r gjson.Result) string {
	out := `,"inputResponses":{`
	r.Get("inputRequests").ForEach(func(key, _ gjson.Result) bool {
		out += key.Raw + `:{"action":"accept","content":{"context":"of things","name":"Ann"}},`
		return true
	})
	out = strings.TrimSuffix(out, ",") + "}"
	if state := r.Get("requestState"); state.Exists() {
		out += `,"requestState":` + state.Raw
	}
	return out
}

// codeOf is the code of a JSON-RPC error, 0 of anything else.
func codeOf(err error) int {
	if f, ok := err.(*failure.Failure); ok {
		return f.UpstreamCode
	}
	return 0
}
