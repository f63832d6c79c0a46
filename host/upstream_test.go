package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// upstream is an MCP server over HTTP in the test's process, with one of
// everything. Its name is in all that it says.
type upstream struct {
	name string
	url  string
	wire *mcp.Server

	mu      sync.Mutex
	watches []string     // every resources/subscribe, in order
	heard   bytes.Buffer // every request, headers and body
}

func newUpstream(t *testing.T, name string) *upstream {
	t.Helper()
	u := &upstream{name: name}
	u.wire = mcp.NewServer(u, mcp.ServerOptions{Name: name})
	serve := u.wire.HTTP()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut off is a fault further on
		r.Body = io.NopCloser(bytes.NewReader(body))
		u.mu.Lock()
		fmt.Fprintf(&u.heard, "%s %s %v\n%s\n", r.Method, r.URL, r.Header, body)
		u.mu.Unlock()
		serve.ServeHTTP(w, r)
	}))
	u.url = web.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = u.wire.Close(ctx)
		web.Close()
	})
	return u
}

func (u *upstream) Describe(context.Context, *mcp.Caller) mcp.Description {
	return mcp.Description{
		Instructions: "instructions of " + u.name,
		Capabilities: json.RawMessage(`{"tools":{},"prompts":{"listChanged":true},"resources":{"subscribe":true},"completions":{}}`),
	}
}

func (u *upstream) Handle(_ context.Context, r *mcp.Incoming) (json.RawMessage, error) {
	say := func(format string) (json.RawMessage, error) {
		return json.RawMessage(strings.ReplaceAll(format, "NAME", u.name)), nil
	}
	switch r.Method {
	case "tools/list":
		return say(`{"tools":[{"name":"open_NAME","description":"open tool of NAME","inputSchema":{"type":"object"}},{"name":"secret_NAME","description":"secret tool of NAME","inputSchema":{"type":"object"}},{"name":"open_big_NAME","inputSchema":{"type":"object"}},{"name":"secret_ask_NAME","inputSchema":{"type":"object"}},{"name":"open_ask_NAME","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		switch tool := gjson.GetBytes(r.Params, "name").String(); {
		case strings.Contains(tool, "big"):
			return say(`{"content":[{"type":"text","text":"` + strings.Repeat("NAME ", 20_000) + `"}]}`)
		case strings.Contains(tool, "ask") && r.Caller.Modern && !gjson.GetBytes(r.Params, "inputResponses").Exists():
			return say(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"NAME?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state of NAME"}`)
		case strings.Contains(tool, "ask"):
			return say(`{"content":[{"type":"text","text":"NAME got ` + gjson.GetBytes(r.Params, "requestState").String() + `"}]}`)
		}
		return say(`{"content":[{"type":"text","text":"result of NAME"}]}`)
	case "prompts/list":
		return say(`{"prompts":[{"name":"prompt_NAME","description":"of NAME"}]}`)
	case "prompts/get":
		if gjson.GetBytes(r.Params, "arguments.big").Exists() {
			return say(`{"messages":[{"role":"user","content":{"type":"text","text":"` + strings.Repeat("NAME ", 20_000) + `"}}]}`)
		}
		return say(`{"messages":[{"role":"user","content":{"type":"text","text":"prompt of NAME"}}]}`)
	case "resources/list":
		return say(`{"resources":[{"uri":"file:///NAME","name":"resource NAME"}]}`)
	case "resources/templates/list":
		return say(`{"resourceTemplates":[{"uriTemplate":"file:///NAME/{x}","name":"template NAME"}]}`)
	case "resources/read":
		uri := gjson.GetBytes(r.Params, "uri").String()
		switch {
		case !strings.HasPrefix(uri, "file:///"+u.name):
			return nil, &mcp.WireError{Code: -32602, Message: "Resource not found"}
		case strings.HasSuffix(uri, "/big"):
			return say(`{"contents":[{"uri":"` + uri + `","text":"` + strings.Repeat(`NAME line\n`, 10_000) + `"}]}`)
		}
		return say(`{"contents":[{"uri":"` + uri + `","text":"contents of NAME"}]}`)
	case "completion/complete":
		return say(`{"completion":{"values":["completed NAME"]}}`)
	}
	return nil, mcp.ErrMethodNotFound
}

// Watch implements mcp.Watcher.
func (u *upstream) Watch(_ context.Context, _ *mcp.Caller, uri string) (func(), error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.watches = append(u.watches, uri)
	return func() {}, nil
}

// changed says that a resource is another one.
func (u *upstream) changed(uri string) {
	u.wire.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"`+uri+`"}`), nil)
}
