package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	official "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/collet-dev/collet/sdk/failure"
)

func init() {
	for name, handler := range map[string]func(func(*http.Request) *official.Server) http.Handler{
		"official-sessions": func(s func(*http.Request) *official.Server) http.Handler {
			return official.NewStreamableHTTPHandler(s, &official.StreamableHTTPOptions{EventStore: official.NewMemoryEventStore(nil)})
		},
		"official-json": func(s func(*http.Request) *official.Server) http.Handler {
			return official.NewStreamableHTTPHandler(s, &official.StreamableHTTPOptions{JSONResponse: true})
		},
		"official-stateless": func(s func(*http.Request) *official.Server) http.Handler {
			return official.NewStreamableHTTPHandler(s, &official.StreamableHTTPOptions{Stateless: true})
		},
		"official-stateless-json": func(s func(*http.Request) *official.Server) http.Handler {
			return official.NewStreamableHTTPHandler(s, &official.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
		},
		"official-sse": func(s func(*http.Request) *official.Server) http.Handler {
			return official.NewSSEHandler(s, nil)
		},
	} {
		peers[name] = func() { serveOfficial(handler) }
	}
}

// serveOfficial serves the official SDK over HTTP and prints its URL.
func serveOfficial(handler func(func(*http.Request) *official.Server) http.Handler) {
	s := official.NewServer(&official.Implementation{Name: "official", Version: "1.8.0"}, nil)
	result := func(text string) *official.CallToolResult {
		return &official.CallToolResult{Content: []official.Content{&official.TextContent{Text: text}}}
	}
	type input struct {
		Text string `json:"text"`
	}
	official.AddTool(s, &official.Tool{Name: "greet"}, func(_ context.Context, _ *official.CallToolRequest, in input) (*official.CallToolResult, any, error) {
		return result("hello " + in.Text), nil, nil
	})
	official.AddTool(s, &official.Tool{Name: "steps"}, func(ctx context.Context, r *official.CallToolRequest, _ struct{}) (*official.CallToolResult, any, error) {
		for i := range 3 {
			if err := r.Session.NotifyProgress(ctx, &official.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}); err != nil {
				return nil, nil, err
			}
		}
		return result("stepped"), nil, nil
	})
	// drop closes its stream twice before it answers: the client has to come back.
	official.AddTool(s, &official.Tool{Name: "drop"}, func(_ context.Context, r *official.CallToolRequest, _ struct{}) (*official.CallToolResult, any, error) {
		for range 2 {
			if r.Extra.CloseSSEStream != nil {
				r.Extra.CloseSSEStream(official.CloseSSEStreamArgs{RetryAfter: 20 * time.Millisecond})
				time.Sleep(100 * time.Millisecond)
			}
		}
		return result("dropped"), nil, nil
	})
	official.AddTool(s, &official.Tool{Name: "roots"}, func(ctx context.Context, r *official.CallToolRequest, _ struct{}) (*official.CallToolResult, any, error) {
		//lint:ignore SA1019 servers of the older revisions still ask, and have to be answered
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		return result(roots.Roots[0].URI), nil, nil
	})
	var canceled atomic.Int32
	official.AddTool(s, &official.Tool{Name: "wait"}, func(ctx context.Context, _ *official.CallToolRequest, _ struct{}) (*official.CallToolResult, any, error) {
		<-ctx.Done()
		canceled.Add(1)
		return nil, nil, ctx.Err()
	})
	official.AddTool(s, &official.Tool{Name: "canceled"}, func(context.Context, *official.CallToolRequest, struct{}) (*official.CallToolResult, any, error) {
		return result(fmt.Sprint(canceled.Load())), nil, nil
	})
	official.AddTool(s, &official.Tool{Name: "grow"}, func(context.Context, *official.CallToolRequest, struct{}) (*official.CallToolResult, any, error) {
		official.AddTool(s, &official.Tool{Name: "grown"}, func(context.Context, *official.CallToolRequest, struct{}) (*official.CallToolResult, any, error) {
			return result("grown"), nil, nil
		})
		return result("growing"), nil, nil
	})
	// mirror wants its arguments in headers, which the SDK's server checks.
	s.AddTool(&official.Tool{Name: "mirror", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Count"},"on":{"type":"boolean","x-mcp-header":"On"},
		"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}}}}`)},
		func(_ context.Context, r *official.CallToolRequest) (*official.CallToolResult, error) {
			return result(string(r.Params.Arguments)), nil
		})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println("http://" + l.Addr().String() + "/mcp")
	_ = http.Serve(l, handler(func(*http.Request) *official.Server { return s }))
}

// serveSelf runs one of the peers in this binary that serve HTTP.
func serveSelf(t testing.TB, name string) string {
	t.Helper()
	peer := self(t, name)
	cmd := exec.Command(peer.Path)
	cmd.Env, cmd.Stderr = peer.Env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

func TestOfficialServerOverHTTP(t *testing.T) {
	for _, test := range []struct {
		peer, version string
		skipProbe     bool
		asks, resumes bool // the transport lets a server ask, and close a stream
		cancels       bool
	}{
		{"official-sessions", "2025-11-25", false, true, true, true},
		{"official-json", "2025-11-25", false, false, false, true},
		{"official-stateless", "2026-07-28", false, false, false, false},
		{"official-stateless-json", "2026-07-28", false, false, false, false},
		{"official-stateless", "2025-11-25", true, false, false, false},
		{"official-sse", "2025-11-25", false, true, false, true},
	} {
		t.Run(test.peer+" "+test.version, func(t *testing.T) {
			changed := make(chan string, 16)
			c := dial(t, Endpoint{URL: serveSelf(t, test.peer)}, Options{
				SkipProbe:      test.skipProbe,
				OnNotification: func(method string, _ json.RawMessage) { changed <- method },
				Capabilities:   json.RawMessage(`{"roots":{}}`),
				OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"roots":[{"uri":"file:///here"}]}`), nil
				},
			})
			if v := c.Server().ProtocolVersion; v != test.version {
				t.Fatalf("version %s, want %s", v, test.version)
			}
			tools, err := c.ListTools(within(t))
			if err != nil || len(tools) != 8 {
				t.Fatalf("%d tools, %v", len(tools), err)
			}
			if got := said(t, callTool(t, c, "greet", `{"text":"<世界>"}`)); got != "hello <世界>" {
				t.Errorf("greet says %q", got)
			}
			n := 0
			if _, err := c.CallTool(within(t), "steps", nil, RequestOptions{OnProgress: func(Progress) { n++ }}); err != nil || n != 3 && !strings.Contains(test.peer, "json") {
				t.Errorf("steps: %d notifications, %v", n, err)
			}
			const mirrored = `{"region":"世界 ","n":42,"on":true,"deep":{"er":"=?base64?x?="}}`
			if got := said(t, callTool(t, c, "mirror", mirrored)); got != mirrored {
				t.Errorf("mirror says %q", got)
			}
			if got := said(t, callTool(t, c, "mirror", `{"region":null}`)); got != `{"region":null}` {
				t.Errorf("mirror says %q", got)
			}
			wantFailure(t, callFails(t, c, "no-such-tool", "{}"), failure.InvalidArguments, failure.Answered)
			if test.asks {
				if got := said(t, callTool(t, c, "roots", "{}")); got != "file:///here" {
					t.Errorf("roots says %q", got)
				}
			}
			if test.resumes {
				if got := said(t, callTool(t, c, "drop", "{}")); got != "dropped" {
					t.Errorf("drop says %q", got)
				}
			}
			if test.cancels {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				_, err = c.CallTool(ctx, "wait", nil, RequestOptions{})
				wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown)
				eventually(t, func() bool { return said(t, callTool(t, c, "canceled", "{}")) == "1" }, "the server was never told of the cancellation")
			}
			if !c.Server().Modern && strings.Contains(test.peer, "stateless") {
				return // nothing to listen to
			}
			eventually(t, func() bool {
				callTool(t, c, "grow", "{}") // again, for the stream may not be open yet
				select {
				case m := <-changed:
					return m == "notifications/tools/list_changed"
				case <-time.After(50 * time.Millisecond):
					return false
				}
			}, "nobody told of the changed list")
		})
	}
}

// A tool whose headers were never asked for is called all the same: the server
// says what is missing, and the list says what that is.
func TestHeadersLearnedFromRefusal(t *testing.T) {
	c := dial(t, Endpoint{URL: serveSelf(t, "official-stateless")}, Options{})
	if got := said(t, callTool(t, c, "mirror", `{"region":"eu"}`)); got != `{"region":"eu"}` {
		t.Errorf("mirror says %q", got)
	}
}
