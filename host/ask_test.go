package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// capable is the _meta of a caller that can be asked (2026-07-28).
const capable = `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"sampling":{},"roots":{}}}`

// answering is an Asker that always gives that answer.
func answering(result string) host.Asker {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(result), nil
	}
}

func textOf(t *testing.T, res *host.Result, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return gjson.GetBytes(res.JSON, "content.0.text").String()
}

// What a server asks in the middle of a call reaches who made it, byte for byte,
// and so does the answer.
func TestServerAsksTheCaller(t *testing.T) {
	t.Parallel()
	site := startSite(t, "")
	h := open(t, fmt.Sprintf("[servers.stdio]\ncommand = \"${BUILT}/faultserver\"\n[servers.http]\nurl = %q\n", site.url))
	for _, server := range []string{"stdio", "http"} {
		for tool, method := range map[string]string{"a_elicit": "elicitation/create", "a_sampling": "sampling/createMessage", "a_roots": "roots/list"} {
			var asked string
			res, err := h.Call(patient(t), host.Request{Tool: server + "/" + tool, Ask: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				asked = method + string(params)
				return json.RawMessage(`{"big":9007199254740993,"one": 1.0}`), nil
			}})
			if got := textOf(t, res, err); got != `client result: {"big":9007199254740993,"one": 1.0}` || asked != method+"{}" {
				t.Errorf("%s/%s: asked %q, answered %q", server, tool, asked, got)
			}
		}
		res, err := h.Call(patient(t), host.Request{Tool: server + "/a_sampling", Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			f := failure.New(failure.Unknown, failure.Answered, "the user <rejected> it")
			f.UpstreamCode, f.UpstreamData = -1, json.RawMessage(`{"n":1.0}`)
			return nil, f
		}})
		if got := textOf(t, res, err); got != `client error: {"code":-1,"message":"the user <rejected> it","data":{"n":1.0}}` {
			t.Errorf("%s: a refusal arrived as %q", server, got)
		}
		for tool, want := range map[string]string{
			"a_elicit":   `client result: {"action":"cancel"}`,
			"a_roots":    `client result: {"roots":[]}`,
			"a_sampling": `client error: {"code":-32601,"message":"Method not found"}`,
			"a_unknown":  `client error: {"code":-32601,"message":"Method not found"}`,
		} {
			res, err := h.Call(patient(t), host.Request{Tool: server + "/" + tool})
			if got := textOf(t, res, err); got != want {
				t.Errorf("%s/%s of a caller that cannot be asked: %q, want %q", server, tool, got, want)
			}
		}
	}
}

// Over HTTP a question comes with its call, so that many may ask at once. Over
// stdio it does not, and while there are several nobody is asked.
func TestServerAsksManyCallers(t *testing.T) {
	t.Parallel()
	site := startSite(t, "")
	h := openURL(t, site.url, "")
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			res, err := h.Call(patient(t), host.Request{Tool: "h/a_elicit", Ask: answering(fmt.Sprintf(`{"i":%d}`, i))})
			if err != nil {
				t.Error(err)
			} else if got := textOf(t, res, nil); got != fmt.Sprintf(`client result: {"i":%d}`, i) {
				t.Errorf("call %d was told %s", i, got)
			}
		})
	}
	calls.Wait()

	h = open(t, "[servers.h]\ncommand = \"${BUILT}/faultserver\"\n")
	ctx, cancel := context.WithCancel(patient(t))
	running := make(chan struct{}, 100)
	calls.Go(func() {
		_, _ = h.Call(ctx, host.Request{Tool: "h/t_progress_forever", OnProgress: func(host.Progress) {
			select {
			case running <- struct{}{}:
			default:
			}
		}})
	})
	<-running
	res, err := h.Call(patient(t), host.Request{Tool: "h/a_elicit", Ask: answering(`{"wrong":1}`)})
	if got := textOf(t, res, err); got != `client result: {"action":"cancel"}` {
		t.Errorf("a question of either call was told %s", got)
	}
	cancel()
	calls.Wait()
}

// Who gives a call up is not asked any more.
func TestQuestionEndsWithTheCall(t *testing.T) {
	t.Parallel()
	h := open(t, "[servers.h]\ncommand = \"${BUILT}/faultserver\"\n")
	ctx, cancel := context.WithCancel(patient(t))
	var asking bool
	_, err := h.Call(ctx, host.Request{Tool: "h/a_elicit", Ask: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		asking = true
		cancel()
		<-ctx.Done()
		asking = false
		return nil, ctx.Err()
	}})
	if f, ok := errors.AsType[*host.Failure](err); !ok || f.Class != failure.Canceled {
		t.Errorf("%v", err)
	}
	if asking {
		t.Error("the call returned while its caller was still being asked")
	}
}

// A server of 2026-07-28 asks in place of a result, and goes on when it is called
// again with the answers: by who accepts that, or by the host for who can be asked.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	site := startSite(t, "modern-only")
	h := open(t, fmt.Sprintf("[servers.stdio]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"modern-only\"]\n[servers.http]\nurl = %q\n", site.url))
	for _, server := range []string{"stdio", "http"} {
		req := host.Request{Tool: server + "/c_input_required", Meta: json.RawMessage(capable), AcceptInput: true}
		res, err := h.Call(patient(t), req)
		if err != nil {
			t.Fatal(err)
		}
		if in := res.Input; in == nil || res.JSON != nil || in.State != "s-1" || string(in.Requests) != `{"q":{"method":"elicitation/create","params":{"message":"sure?"}}}` {
			t.Fatalf("%s: %+v", server, res)
		}
		req.InputResponses, req.RequestState = json.RawMessage(`{"q":{"action":"accept", "n":1.0}}`), res.Input.State
		res, err = h.Call(patient(t), req)
		if got := textOf(t, res, err); got != `state s-1, responses {"q":{"action":"accept", "n":1.0}}` {
			t.Errorf("%s: %s", server, got)
		}

		res, err = h.Call(patient(t), host.Request{Tool: server + "/c_input_required", Ask: answering(`{"action":"decline"}`)})
		if got := textOf(t, res, err); got != `state s-1, responses {"q":{"action":"decline"}}` {
			t.Errorf("%s, asked: %s", server, got)
		}
		if f := mustFail(t, h, host.Request{Tool: server + "/c_input_required"}); f.Class != failure.ConsentRequired || f.Delivery != failure.Answered {
			t.Errorf("%s, nobody to ask: %+v", server, f)
		}
	}
}

// What a request to a server of 2026-07-28 declares is its caller's: trace context
// and capabilities as they came, none where it says none.
func TestMetaGoesUpstream(t *testing.T) {
	t.Parallel()
	h := open(t, "[servers.old]\ncommand = \"${BUILT}/faultserver\"\n[servers.new]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"modern-only\"]\n")
	const meta = `{"traceparent":"00-1-2-01","x":1.0,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	for server, want := range map[string]string{
		"old": `"traceparent":"00-1-2-01","x":1.0,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`,
		"new": `"traceparent":"00-1-2-01","x":1.0,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`,
	} {
		res, err := h.Call(patient(t), host.Request{Tool: server + "/raw", Meta: json.RawMessage(meta)})
		got := textOf(t, res, err)
		if !strings.Contains(got, want) || strings.Count(got, "clientCapabilities") != 1 {
			t.Errorf("%s got %s", server, got)
		}
	}
	res, err := h.Call(patient(t), host.Request{Tool: "new/raw"})
	if got := textOf(t, res, err); strings.Count(got, `clientCapabilities":{}`) != 1 || strings.Contains(got, "elicitation") {
		t.Errorf("a caller that says nothing of itself: %s", got)
	}
}

// What a server logs in the middle of a call reaches who made it: over HTTP
// whatever else is going on, over stdio while nothing is.
func TestLogsReachTheCaller(t *testing.T) {
	t.Parallel()
	site, modern := startSite(t, ""), startSite(t, "modern-only")
	h := open(t, fmt.Sprintf("[servers.stdio]\ncommand = \"${BUILT}/faultserver\"\n[servers.http]\nurl = %q\n[servers.modern]\nurl = %q\n", site.url, modern.url))
	for server, n := range map[string]int{"stdio": 1, "http": 8, "modern": 8} {
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				var got []string
				_, err := h.Call(patient(t), host.Request{
					Tool: server + "/x_log", Arguments: json.RawMessage(fmt.Sprintf(`{"text":"<%d>"}`, i)),
					OnLog: func(level, logger string, data json.RawMessage) { got = append(got, level+" "+logger+" "+string(data)) },
				})
				if want := fmt.Sprintf(`warning x {"text":"<%d>","n":1.0}`, i); err != nil || len(got) != 1 || got[0] != want {
					t.Errorf("%s: %v, logged %q, want %s", server, err, got, want)
				}
			})
		}
		calls.Wait()
	}
}
