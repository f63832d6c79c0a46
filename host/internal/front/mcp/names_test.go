package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/sdk/failure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// library is a host with servers a and b, which have prompts and resources: shared
// is of both, own-a and own-b of one each. It notes what was passed on.
type library struct {
	inquirer
	plain  bool
	passed *[]string
}

func (h library) Plain() bool { return h.plain }

func (h library) Servers() []Server {
	methods := []string{"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "completion/complete"}
	return []Server{{Name: "a", Methods: methods}, {Name: "b", Methods: methods}, {Name: "none"}}
}

func (h library) Forward(_ context.Context, req call.ForwardRequest) (json.RawMessage, error) {
	switch req.Method {
	case "prompts/list":
		return json.RawMessage(`{"prompts":[{"x": 1.0,"name":"shared"},{"name":"own-` + req.Server + `"},{"name":"odd name"}]}`), nil
	case "resources/list":
		return json.RawMessage(`{"resources":[{"uri":"x://shared"},{"uri":"x://` + req.Server + `"}]}`), nil
	case "resources/templates/list":
		return nil, &call.Failure{} // it must not take the other lists with it
	}
	*h.passed = append(*h.passed, req.Server+" "+string(req.Params))
	if uri := gjson.GetBytes(req.Params, "uri").String(); strings.HasPrefix(uri, "x://b") && req.Server == "a" {
		return nil, &call.Failure{Failure: failure.Failure{Class: failure.NotFound, UpstreamCode: -32002}}
	}
	return json.RawMessage(`{}`), nil
}

func TestNamesOfPromptsAndResources(t *testing.T) {
	for _, c := range []struct {
		plain          bool
		method, params string
		want           string // the result, or what was passed on
		code           int    // of the error
	}{
		{false, "prompts/list", `{}`, `{"prompts":[{"x": 1.0,"name":"a__shared"},{"name":"a__own-a"},{"name":"a__odd_name_e1cd88ef"},{"x": 1.0,"name":"b__shared"},{"name":"b__own-b"},{"name":"b__odd_name_2ec7b1c4"}]}`, 0},
		{true, "prompts/list", `{}`, `{"prompts":[{"name":"own-a"},{"name":"own-b"}]}`, 0},
		{false, "resources/list", `{}`, `{"resources":[{"uri":"collet:a/x://shared"},{"uri":"collet:a/x://a"},{"uri":"collet:b/x://shared"},{"uri":"collet:b/x://b"}]}`, 0},
		{true, "resources/list", `{}`, `{"resources":[{"uri":"x://shared"},{"uri":"x://a"},{"uri":"x://b"}]}`, 0},
		{false, "resources/templates/list", `{}`, `{"resourceTemplates":[]}`, 0},

		{false, "prompts/get", `{"n":1.0, "name":"b__shared"}`, `b {"n":1.0, "name":"shared"}`, 0},
		{false, "prompts/get", `{"name":"b__never-listed"}`, `b {"name":"never-listed"}`, 0}, // the server says so
		{false, "prompts/get", `{"name":"a__odd_name_e1cd88ef"}`, `a {"name":"odd name"}`, 0},
		{false, "prompts/get", `{"name":"shared"}`, ``, -32602},
		{false, "prompts/get", `{"name":"none__shared"}`, ``, -32602},
		{false, "prompts/get", `{}`, ``, -32602},
		{true, "prompts/get", `{"name":"own-b"}`, `b {"name":"own-b"}`, 0},
		{true, "prompts/get", `{"name":"shared"}`, ``, -32602},
		{true, "prompts/get", `{"name":"b__shared"}`, ``, -32602},

		{false, "resources/read", `{"uri":"collet:b/x://a/\u00e9?q={r}"}`, `b {"uri":"x://a/é?q={r}"}`, 0},
		{false, "resources/read", `{"uri":"collet:none/x://a"}`, ``, -32002},
		{false, "resources/read", `{"uri":"x://a"}`, ``, -32002},
		{true, "resources/read", `{"uri":"x://a"}`, `a {"uri":"x://a"}`, 0},
		{true, "resources/read", `{"uri":"x://b"}`, `a {"uri":"x://b"}, b {"uri":"x://b"}`, 0},
		{true, "resources/read", `{"uri":"collet:b/x://b"}`, `a {"uri":"collet:b/x://b"}`, 0},

		{false, "completion/complete", `{"ref":{"type":"ref/prompt","name":"a__own-a"},"argument":{}}`, `a {"ref":{"type":"ref/prompt","name":"own-a"},"argument":{}}`, 0},
		{false, "completion/complete", `{"ref":{"type":"ref/resource","uri":"collet:b/x://{y}"}}`, `b {"ref":{"type":"ref/resource","uri":"x://{y}"}}`, 0},
		{false, "completion/complete", `{}`, ``, -32602},
		{false, "tasks/list", `{}`, ``, -32601},
	} {
		var passed []string
		f := New(library{plain: c.plain, passed: &passed})
		raw, err := f.Handle(t.Context(), &protocol.Incoming{Caller: &protocol.Caller{Version: "2025-11-25"}, Method: c.method, Params: json.RawMessage(c.params)})
		f.Close()
		got := strings.Join(passed, ", ")
		if strings.HasSuffix(c.method, "/list") {
			got = string(raw)
		}
		code := 0
		if e := (*protocol.WireError)(nil); errors.As(err, &e) {
			code = e.Code
		} else if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if got != c.want || code != c.code {
			t.Errorf("plain %v, %s %s: %s %v\nwant %s %d", c.plain, c.method, c.params, got, err, c.want, c.code)
		}
	}
}

// What a modern server wants to be told with each request, a legacy client has said
// once.
func TestDeclaringForLegacyClients(t *testing.T) {
	ask := func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }
	r := &protocol.Incoming{Caller: &protocol.Caller{Capabilities: json.RawMessage(`{"roots":{}}`)}, Meta: json.RawMessage(`{"progressToken":1}`)}
	if got := string(declaring(r)); got != `{"progressToken":1}` {
		t.Errorf("who cannot be asked declares %s", got)
	}
	r.Ask, r.Log, r.LogLevel = ask, func(json.RawMessage) {}, "warning"
	if got, want := string(declaring(r)), `{"io.modelcontextprotocol/logLevel":"warning","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":1}`; got != want {
		t.Errorf("declares %s, want %s", got, want)
	}
}
