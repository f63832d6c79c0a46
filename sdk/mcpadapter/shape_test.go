package mcpadapter

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// openShaped is open for a server with a Shape.
func openShaped(t *testing.T, shape Shape, connect func(ctx context.Context) (Upstream, error)) (*server, *recorder) {
	t.Helper()
	r := &recorder{watching: make(chan struct{})}
	s := New(testEnv(), Options{Remote: true, Shape: shape, Connect: func(ctx context.Context, _ *adapter.Env, _ mcp.Options) (Upstream, error) {
		<-r.watching
		return connect(ctx)
	}}).(*server)
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan struct{})
	go func() { defer close(watching); _ = s.news.publish(ctx, r) }()
	t.Cleanup(func() {
		cancel()
		<-watching
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s, r
}

func names(tools []adapter.Tool) (all []string) {
	for _, tool := range tools {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	return all
}

type word struct {
	Word string `json:"word"`
}

// twice is an own tool that calls the upstream's echo.
func twice(up Caller) *adapter.Tools {
	var tools adapter.Tools
	adapter.Add(&tools, "twice", "", func(ctx context.Context, call *adapter.Call, in word) (*adapter.Result, error) {
		args, _ := json.Marshal(word{in.Word + in.Word})
		return up.CallUpstream(ctx, call, "echo", args)
	})
	adapter.Add(&tools, "taken", "", func(context.Context, *adapter.Call, struct{}) (string, error) { return "own", nil })
	return &tools
}

func TestShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		up := newFake()
		up.tools = func(context.Context) ([]json.RawMessage, error) {
			return []json.RawMessage{json.RawMessage(`{"name":"echo","icons":[1],"inputSchema":{}}`), json.RawMessage(`{"name":"gone"}`), json.RawMessage(`{"name":"taken"}`)}, nil
		}
		up.call = func(_ context.Context, tool string, args json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error) {
			sent = append(sent, tool+string(args)+string(opt.Meta))
			switch {
			case tool == "broken":
				return nil, failure.New(failure.ServerError, failure.Answered, "400")
			case strings.Contains(string(args), "ask"):
				return json.RawMessage(`{"resultType":"input_required"}`), nil
			}
			return json.RawMessage(`{"content":[{"type":"text","text":"limit"}]}`), nil
		}
		shape := Shape{
			Edit: func(tool adapter.Tool) (adapter.Tool, bool) {
				tool.Definition, tool.ReadOnly = Without(tool.Definition, "icons"), new(true)
				return tool, tool.Name != "gone"
			},
			Admit: func(_ context.Context, call *adapter.Call) error {
				if call.Tool == "gone" {
					return failure.New(failure.NotFound, failure.NotSent, "not offered")
				}
				return nil
			},
			Judge: func(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
				if Text(res.JSON) == "limit" && !strings.Contains(string(call.Args), "fine") {
					return nil, failure.New(failure.RateLimited, failure.Answered, "%s is limited", call.Tool)
				}
				return res, nil
			},
			Explain: func(f *failure.Failure) {
				if f.Message == "400" {
					f.Class, f.Message = failure.AuthFailure, "no token"
				}
			},
			Own: twice,
		}
		s, _ := openShaped(t, shape, func(context.Context) (Upstream, error) { return up, nil })
		tools, err := s.Tools(t.Context())
		if err != nil || !slices.Equal(names(tools), []string{"echo", "taken", "twice"}) {
			t.Fatalf("tools %q, %v", names(tools), err)
		}
		for _, tool := range tools {
			if tool.Name == "echo" && (string(tool.Definition) != `{"name":"echo","inputSchema":{}}` || tool.ReadOnly == nil) {
				t.Errorf("echo is %s, read-only %v", tool.Definition, tool.ReadOnly)
			}
		}
		call := func(tool, args string) (*adapter.Result, error) {
			return s.Call(t.Context(), &adapter.Call{Tool: tool, Args: json.RawMessage(args)})
		}
		_, err = call("gone", `{}`)
		wantFailure(t, err, failure.NotFound, failure.NotSent)
		if len(sent) > 0 {
			t.Errorf("a refused call was sent: %q", sent)
		}
		_, err = call("echo", `{}`)
		wantFailure(t, err, failure.RateLimited, failure.Answered)
		if res, err := call("echo", `{"a":"fine"}`); err != nil || Text(res.JSON) != "limit" {
			t.Errorf("a fine call: %v", err)
		}
		_, err = call("broken", `{}`)
		if f := wantFailure(t, err, failure.AuthFailure, failure.Answered); f.Message != "no token" {
			t.Errorf("explained as %q", f.Message)
		}
		if res, err := call("taken", `{}`); err != nil || Text(res.JSON) != "own" {
			t.Errorf("the own tool of a taken name: %v", err)
		}
		sent = nil
		if res, err := call("twice", `{"word":"fine"}`); err != nil || Text(res.JSON) != "limit" || !slices.Equal(sent, []string{`echo{"word":"finefine"}`}) {
			t.Errorf("own tool: %v, sent %q", err, sent)
		}
		_, err = call("twice", `{"word":"no"}`)
		if f := wantFailure(t, err, failure.RateLimited, failure.Answered); f.Message != "echo is limited" {
			t.Errorf("own tool: %q", f.Message)
		}
		up.info.Modern = true
		_, err = call("twice", `{"word":"ask"}`)
		wantFailure(t, err, failure.ConsentRequired, failure.Answered)
	})
}

// Own tools that need no upstream are there while it is not.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := true
		up := newFake()
		up.tools = func(context.Context) ([]json.RawMessage, error) {
			return []json.RawMessage{json.RawMessage(`{"name":"echo"}`)}, nil
		}
		connect := func(context.Context) (Upstream, error) {
			if refused {
				return nil, failure.New(failure.ServerError, failure.Answered, "401")
			}
			return up, nil
		}
		explain := func(f *failure.Failure) { f.Class, f.Message = failure.AuthFailure, "set a token" }
		s, host := openShaped(t, Shape{Own: twice, Alone: true, Explain: explain}, connect)
		tools, err := s.Tools(t.Context())
		if err != nil || !slices.Equal(names(tools), []string{"taken", "twice"}) {
			t.Fatalf("tools %q, %v", names(tools), err)
		}
		synctest.Wait()
		host.wantLast(t, adapter.Degraded)
		if host.why.Message != "set a token" {
			t.Errorf("degraded because of %v", host.why)
		}
		_, err = s.Call(t.Context(), &adapter.Call{Tool: "echo"})
		wantFailure(t, err, failure.AuthFailure, failure.Answered)
		if res, err := s.Call(t.Context(), &adapter.Call{Tool: "taken", Args: json.RawMessage(`{}`)}); err != nil || Text(res.JSON) != "own" {
			t.Errorf("the own tool: %v", err)
		}
		refused = false
		if _, err := s.Call(t.Context(), &adapter.Call{Tool: "echo"}); err != nil {
			t.Fatal(err)
		}
		tools, err = s.Tools(t.Context())
		if err != nil || !slices.Equal(names(tools), []string{"echo", "taken", "twice"}) {
			t.Errorf("tools afterwards %q, %v", names(tools), err)
		}
		host.wantLast(t, adapter.Ready)

		s, _ = openShaped(t, Shape{Own: twice}, func(context.Context) (Upstream, error) {
			return nil, failure.New(failure.AuthFailure, failure.NotSent, "none")
		})
		_, err = s.Tools(t.Context())
		wantFailure(t, err, failure.AuthFailure, failure.NotSent)
	})
}
