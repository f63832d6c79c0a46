package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

func start(t *testing.T, cfg config) *adaptertest.Plugin {
	t.Helper()
	p := adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: launch.ShortEnv(os.Environ()), Dir: "testdata"})
	if err := p.Settings(t, cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestContract(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("testdata/files.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := json.Marshal(config{File: file, Server: "files"})
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Verify(t, pluginPath, check.Options{
		Config: cfg, Patience: 4, Only: []string{"describe", "identity", "config-schema", "no-cookie", "stdout", "bad-config", "configure", "list-tools",
			"events", "cancel", "concurrent", "large-arguments", "lease", "shutdown", "unknown-fields", "environment", "two-processes", "stopped"},
		Call: check.Call{Tool: "read", Arguments: json.RawMessage(`{"path":"a"}`)},
	})
}

// TestPlays has the answers of the recording, byte for byte.
func TestPlays(t *testing.T) {
	t.Parallel()
	p := start(t, config{File: "files.jsonl", Server: "files"})
	list, err := p.ListTools(adaptertest.Within(t), &adapterpb.ListToolsRequest{})
	if err != nil || len(list.GetTools()) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if read := list.GetTools()[0]; string(read.GetDefinition()) != `{"name": "read", "inputSchema": {"type":"object"}, "x": 9007199254740993}` || !read.GetReadOnly() {
		t.Errorf("%v", read)
	}
	for range 2 {
		if got, isError, err := p.Call(t, "read", `{"path":"a"}`); err != nil || isError || string(got) != `{ "content": [], "n": 1.0e0 }` {
			t.Errorf("%s, %v", got, err)
		}
	}
	if got, isError, err := p.Call(t, "read", `{"path":"b"}`); err != nil || !isError || string(got) != "{\n\"content\":[],\"isError\":true}" {
		t.Errorf("%s, %v, %v", got, isError, err)
	}
	_, _, err = p.Call(t, "write", `{}`)
	if f := (*failure.Failure)(nil); !errors.As(err, &f) || f.Class != failure.RateLimited || f.Delivery != failure.Answered || f.RetryAfter.Seconds() != 7 || f.UpstreamCode != 429 {
		t.Errorf("%#v", err)
	}
	_, _, err = p.Call(t, "read", `{"path":"c"}`)
	if f := (*failure.Failure)(nil); !errors.As(err, &f) || f.Class != failure.NotFound {
		t.Errorf("%#v", err)
	}
	stream, err := p.Forward(adaptertest.Within(t), &adapterpb.ForwardRequest{Method: "resources/read", Params: []byte(`{"uri":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := stream.Recv(); err != nil || string(ev.GetResult()) != `{"contents":[]}` {
		t.Errorf("%v, %v", ev, err)
	}
	adaptertest.Transcript(t, start(t, config{File: "other.jsonl", Match: "order"}), "testdata/other.jsonl")
}

// TestRounds has a call that was answered with a question go on as it did: after the same
// answer, after one of another session, after no other, and where nobody can be asked.
func TestRounds(t *testing.T) {
	t.Parallel()
	const (
		can     = `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
		formOf  = `{"q":{"method":"elicitation/create","params":{"message":"a?"}}}`
		answers = `{"q":{"action":"accept","content":{"a":"%s"}}}`
	)
	// call returns the result, or the state of the question, or the failure's message.
	call := func(t *testing.T, p *adaptertest.Plugin, meta, answer, state string) string {
		t.Helper()
		req := &adapterpb.CallToolRequest{Tool: "ask", Arguments: []byte(`{}`), CallId: "c", Meta: []byte(meta), RequestState: state}
		if answer != "" {
			req.InputResponses = fmt.Appendf(nil, answers, answer)
		}
		stream, err := p.CallTool(adaptertest.Within(t), req)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := stream.Recv()
		switch in := ev.GetInputRequired(); {
		case err != nil:
			f := failure.FromStatus(err)
			return f.Class.String() + ": " + f.Message
		case in != nil && string(in.GetRequests()) != formOf:
			t.Errorf("asks %s", in.GetRequests())
			fallthrough
		case in != nil:
			return in.GetRequestState()
		}
		return string(ev.GetResult().GetResult())
	}
	p := start(t, config{File: "rounds.jsonl"})
	for _, tt := range []struct{ meta, answer, state, want string }{
		{can, "", "", "s1"}, {can, "one", "s1", `{"end":1}`},
		{can, "", "", "s2"}, {can, "one", "s2", `{"end":1}`}, {can, "two", "s1", `{"end":2}`}, {can, "two", "s2", `{"end":2}`},
		{can, "three", "s1", `not-found: the question of the tool was answered otherwise than in the recording, which has no end for that; the recorded answer is ` +
			fmt.Sprintf(answers, "one") + " or " + fmt.Sprintf(answers, "two")},
		{can, "one", "s3", `not-found: ask {} was not recorded for m; recorded are: ask {}; ask {}; ask {}; ask {}`},
		{"", "", "", `{"end":2}`}, {`{"io.modelcontextprotocol/clientCapabilities":{}}`, "", "", `{"end":2}`},
	} {
		if got := call(t, p, tt.meta, tt.answer, tt.state); got != tt.want {
			t.Errorf("%q to %q: %s, want %s", tt.answer, tt.state, got, tt.want)
		}
	}
	p = start(t, config{File: "rounds.jsonl", Match: "order"})
	for _, tt := range []struct{ meta, answer, state, want string }{
		{can, "", "", "s1"},
		{can, "two", "s1", `not-found: the question of the tool was answered otherwise than in the recording, which has no end for that; the recorded answer is ` + fmt.Sprintf(answers, "one")},
		{can, "one", "s1", `{"end":1}`},
		{"", "", "", `{"end":2}`},
		{"", "", "", `not-found: the recording is over: m has no call after the 4 that were recorded`},
	} {
		if got := call(t, p, tt.meta, tt.answer, tt.state); got != tt.want {
			t.Errorf("in order: %q to %q: %s, want %s", tt.answer, tt.state, got, tt.want)
		}
	}
	adaptertest.Transcript(t, start(t, config{File: "rounds.jsonl", Match: "order"}), "testdata/rounds.jsonl")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	p := adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: launch.ShortEnv(os.Environ()), Dir: "testdata"})
	for path, cfg := range map[string]config{
		"/file": {File: "none.jsonl"}, "/server": {File: "files.jsonl"}, "/match": {File: "other.jsonl", Match: "guess"},
	} {
		f := failure.Classify(p.Settings(t, cfg))
		if f == nil || f.Class != failure.InvalidArguments || len(f.Problems) != 1 || f.Problems[0].Path != path {
			t.Errorf("%s: %+v", path, f)
		}
	}
}
