package adapter_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/sdk/adapter"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// call runs one tool and returns all its events and how the stream ended.
func call(t *testing.T, c adapterpb.AdapterClient, req *adapterpb.CallToolRequest) ([]*adapterpb.CallToolEvent, error) {
	t.Helper()
	stream, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var events []*adapterpb.CallToolEvent
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
}

func configure(t *testing.T, c adapterpb.AdapterClient, config string) {
	t.Helper()
	if _, err := c.Configure(t.Context(), &adapterpb.ConfigureRequest{Server: "test", Config: []byte(config)}); err != nil {
		t.Fatal(err)
	}
}

// What holds for CallTool holds for each call on a stream, here of real processes.
func TestProcessesOnStreams(t *testing.T) {
	adapter.Streamed = true
	defer func() { adapter.Streamed = false }()
	t.Run("hello", TestHelloOverGoPlugin)
	t.Run("refusals", TestHelloRefuses)
	t.Run("questions", TestHostService)
	t.Run("panics", TestPanicKeepsTheProcess)
	t.Run("cancel", TestCancelReachesTheHandler)
	t.Run("large", TestLargeMessages)
	t.Run("unknown fields", TestUnknownFieldsAreIgnored)
}

func TestHelloOverGoPlugin(t *testing.T) {
	c, _, _ := dialStock(t, hello(t))
	configure(t, c, `{"greeting":"Good <day> &"}`)

	list, err := c.ListTools(t.Context(), &adapterpb.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const definition = `{"name":"greet","description":"Greet somebody.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"who to greet"}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`
	if len(list.Tools) != 1 || string(list.Tools[0].Definition) != definition || !list.Tools[0].GetReadOnly() {
		t.Errorf("tools: %v\nwant one of %s", list.Tools, definition)
	}

	events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "greet", Arguments: []byte(`{"name":"Ada"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 || events[0].GetProgress().GetMessage() != "greeting Ada" {
		t.Fatalf("events: %v, want progress and a result", events)
	}
	const want = `{"content":[{"type":"text","text":"Good <day> &, Ada!"}]}`
	if got := events[1].GetResult(); string(got.GetResult()) != want || got.GetIsError() {
		t.Errorf("result: %v, want %s", got, want)
	}
}

func TestHelloRefuses(t *testing.T) {
	c, _, _ := dialStock(t, hello(t))

	_, err := call(t, c, &adapterpb.CallToolRequest{Tool: "greet"})
	if f := failure.FromStatus(err); f == nil || f.Delivery != failure.NotSent {
		t.Errorf("call before Configure: %v, want a failure that was not sent", err)
	}

	_, err = c.Configure(t.Context(), &adapterpb.ConfigureRequest{Config: []byte(`{"greeting":1,"gretting":"x"}`)})
	f := failure.FromStatus(err)
	if f == nil || f.Class != failure.InvalidArguments || status.Code(err) != codes.InvalidArgument {
		t.Fatalf("bad config: %v", err)
	}
	wantProblems(t, f, "/greeting type", "/gretting additionalProperties")

	configure(t, c, `{}`) // a refused config does not spoil the process
	tests := []struct {
		name, tool, args string
		class            failure.Class
		problems         []string
	}{
		{"unknown tool", "great", `{}`, failure.NotFound, nil},
		{"missing", "greet", `{}`, failure.InvalidArguments, []string{"/name required"}},
		{"wrong type", "greet", `{"name":7}`, failure.InvalidArguments, []string{"/name type"}},
		{"unknown member", "greet", `{"name":"a","a/b~":1}`, failure.InvalidArguments, []string{"/a~1b~0 additionalProperties"}},
		{"other case", "greet", `{"Name":"a"}`, failure.InvalidArguments, []string{"/name required", "/Name additionalProperties"}},
		{"no object", "greet", `[]`, failure.InvalidArguments, []string{" type"}},
		{"not JSON", "greet", `{"name":`, failure.InvalidArguments, []string{" type"}},
		{"two values", "greet", `{"name":"a"}{}`, failure.InvalidArguments, []string{" type"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events, err := call(t, c, &adapterpb.CallToolRequest{Tool: test.tool, Arguments: []byte(test.args)})
			f := failure.FromStatus(err)
			if f == nil || f.Class != test.class || f.Delivery != failure.NotSent || len(events) != 0 {
				t.Fatalf("%v, events %v; want %v that was not sent", err, events, test.class)
			}
			wantProblems(t, f, test.problems...)
		})
	}
}

func wantProblems(t *testing.T, f *failure.Failure, want ...string) {
	t.Helper()
	var got []string
	for _, p := range f.Problems {
		got = append(got, p.Path+" "+p.Rule)
		if p.Message == "" {
			t.Errorf("problem %v says nothing", p)
		}
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("problems %s, want %s", a, b)
	}
}
