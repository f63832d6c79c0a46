package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
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

// Prompts, resources and completion of both eras pass through as they are, and so
// does what the servers announce of resources that somebody subscribed to.
func TestForwardToStrangers(t *testing.T) {
	t.Parallel()
	everything := npmDir(t) + "/@modelcontextprotocol/server-everything/dist/index.js"
	conformance := goSDKServer(t, "everything-server")
	addr, _ := freeAddr(t)
	startProgram(t, addr, exec.Command(conformance, "-http", addr)).await()
	h := open(t, fmt.Sprintf("[servers.old]\ncommand = \"node\"\nargs = [%q]\n[servers.new]\ncommand = %q\n[servers.web]\nurl = \"http://%s/mcp\"\n", everything, conformance, addr))
	if h.ServerInfo("old") != nil || h.ServerInfo("none") != nil {
		t.Error("something is known of a server that has not been started")
	}
	forward := func(t *testing.T, server, method, params string) string {
		t.Helper()
		raw, err := h.Forward(patient(t), host.ForwardRequest{Server: server, Method: method, Params: json.RawMessage(params)})
		if err != nil {
			t.Fatalf("%s of %s: %v", method, server, err)
		}
		return string(raw)
	}
	for _, c := range []struct{ server, method, params, says string }{
		{"old", "prompts/list", ``, `"name":"completable-prompt"`},
		{"old", "prompts/get", `{"name":"args-prompt","arguments":{"city":"<b> & c"}}`, `<b> & c`},
		{"old", "resources/list", `{}`, `"uri":"demo://resource/static/document/architecture.md"`},
		{"old", "resources/templates/list", `{}`, `"uriTemplate":"demo://resource/dynamic/text/{resourceId}"`},
		{"old", "resources/read", `{"uri":"demo://resource/dynamic/text/7"}`, `"uri":"demo://resource/dynamic/text/7"`},
		{"old", "completion/complete", `{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"E"}}`, `"Engineering"`},
		{"new", "prompts/get", `{"name":"test_prompt_with_arguments","arguments":{"arg1":"b c","arg2":"d"}}`, `arg1='b c'`},
		{"new", "resources/read", `{"uri":"test://static-text"}`, `"uri":"test://static-text"`},
		{"new", "completion/complete", `{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"t"}}`, `"completion"`},
		{"web", "resources/read", `{"uri":"test://static-text"}`, `"resultType":"complete"`},
	} {
		if got := forward(t, c.server, c.method, c.params); !strings.Contains(got, c.says) {
			t.Errorf("%s of %s: %s", c.method, c.server, got)
		}
	}
	// A prompt that asks in place of a result, and what becomes of it.
	const prompt = `"name":"test_input_required_result_prompt","_meta":` + capable
	asked := gjson.Parse(forward(t, "new", "prompts/get", `{`+prompt+`}`))
	if asked.Get("resultType").String() != "input_required" {
		t.Fatalf("the prompt says %s", asked.Raw)
	}
	answers := "{"
	asked.Get("inputRequests").ForEach(func(key, _ gjson.Result) bool {
		answers += key.Raw + `:{"action":"accept","content":{"context":"of things"}}`
		return true
	})
	more := `{` + prompt + `,"inputResponses":` + answers + "}"
	if state := asked.Get("requestState"); state.Exists() {
		more += `,"requestState":` + state.Raw
	}
	if got := forward(t, "new", "prompts/get", more+"}"); !strings.Contains(got, "of things") {
		t.Errorf("with answers the prompt says %s", got)
	}

	for server, version := range map[string]string{"old": "2025-11-25", "new": "2026-07-28"} {
		in := h.ServerInfo(server)
		if in == nil || in.ProtocolVersion != version || !gjson.GetBytes(in.Capabilities, "prompts").Exists() || !gjson.GetBytes(in.Info, "name").Exists() || !slices.Contains(in.Methods, "completion/complete") {
			t.Errorf("%s introduced itself as %+v", server, in)
		}
	}
	if in := h.ServerInfo("old"); !strings.HasPrefix(in.Instructions, "# Everything Server") {
		t.Errorf("instructions %q", in.Instructions)
	}

	for _, unknown := range []host.ForwardRequest{{Server: "old", Method: "tasks/list"}, {Server: "nobody", Method: "prompts/list"}} {
		_, err := h.Forward(patient(t), unknown)
		if f, ok := err.(*host.Failure); !ok || f.Class != failure.NotFound || f.Delivery != failure.NotSent || f.Server != unknown.Server {
			t.Errorf("%+v: %+v", unknown, err)
		}
	}
	_, err := h.Forward(patient(t), host.ForwardRequest{Server: "old", Method: "resources/read", Params: json.RawMessage(`{"uri":"demo://none"}`)})
	if f, ok := err.(*host.Failure); !ok || f.Delivery != failure.Answered || f.UpstreamCode == 0 {
		t.Errorf("a resource that is not there: %+v", err)
	}
}

// Who subscribed to a resource hears of its changes, whatever the era.
func TestSubscriptionsToResources(t *testing.T) {
	t.Parallel()
	everything := npmDir(t) + "/@modelcontextprotocol/server-everything/dist/index.js"
	conformance := goSDKServer(t, "everything-server")
	addr, _ := freeAddr(t)
	startProgram(t, addr, exec.Command(conformance, "-http", addr)).await()
	h := open(t, fmt.Sprintf("[servers.old]\ncommand = \"node\"\nargs = [%q]\n[servers.new]\ncommand = %q\n[servers.web]\nurl = \"http://%s/mcp\"\n", everything, conformance, addr))
	news := make(chan host.NotifiedEvent, 1000)
	defer h.Subscribe(func(e host.Event) {
		if e.Notified != nil {
			select {
			case news <- *e.Notified:
			default:
			}
		}
	})()
	const dynamic = "demo://resource/dynamic/text/7"
	uris := map[string]string{"old": dynamic, "new": "test://watched-resource", "web": "test://watched-resource"}
	for server, uri := range uris {
		for _, u := range []string{uri, uri, "test://static-text"} {
			if _, err := h.Forward(patient(t), host.ForwardRequest{Server: server, Method: "resources/subscribe", Params: json.RawMessage(`{"uri":"` + u + `"}`)}); err != nil {
				t.Errorf("%s: %v", server, err)
			}
		}
	}
	mustCall(t, h, "old/toggle-subscriber-updates", `{}`)
	for deadline := time.After(patience); len(uris) > 0; {
		select {
		case e := <-news:
			if e.Method == "notifications/resources/updated" && gjson.GetBytes(e.Params, "uri").String() == uris[e.Server] {
				delete(uris, e.Server)
			}
		case <-deadline:
			t.Fatalf("no news of %v", uris)
		}
	}
	for _, server := range []string{"old", "new", "web"} {
		if _, err := h.Forward(patient(t), host.ForwardRequest{Server: server, Method: "resources/unsubscribe", Params: json.RawMessage(`{"uri":"test://static-text"}`)}); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
}
