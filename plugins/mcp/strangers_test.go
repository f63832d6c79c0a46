package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// goSDKServer is the path of the official Go SDK's conformance server, which `make
// servers` builds. Where COLLET_GOSDK_DIR says that it is there, it must be.
func goSDKServer(t *testing.T) string {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_GOSDK_DIR")
	if !must {
		dir = filepath.Join("..", "..", ".cache", "gosdk")
	}
	path, err := exec.LookPath(filepath.Join(dir, "everything-server"))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil && !must {
		t.Skipf("no servers of the Go SDK, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_GOSDK_DIR names no servers of the Go SDK: %v", err)
	}
	return path
}

// listening starts a server that listens at an address, and returns its URL once
// it does.
func listening(t *testing.T, path string, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(path, append([]string{"-http", addr}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	again := time.NewTicker(10 * time.Millisecond) // nothing announces that it listens
	defer again.Stop()
	for ctx := within(t); ; {
		if c, err := net.DialTimeout("tcp", addr, deadline); err == nil {
			c.Close()
			return "http://" + addr + "/mcp"
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s does not listen at %s", cmd, addr)
		}
	}
}

// The official Go SDK's server of both eras, over every transport.
func TestGoSDK(t *testing.T) {
	t.Parallel()
	path := goSDKServer(t)
	for name, cfg := range map[string]config{
		"stdio":     {Command: path},
		"stateless": {URL: listening(t, path)},
		"sessions":  {URL: listening(t, path, "-stateless=false")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, cfg)
			if tools := p.tools(t); len(tools) < 25 {
				t.Errorf("%d tools", len(tools))
			}
			if got := p.mustCall(t, "test_error_handling", `{}`); !got.isError {
				t.Errorf("a tool that failed: %s", got.result)
			}
			if got := p.mustCall(t, "test_tool_with_progress", `{}`); len(got.progress) == 0 || got.progress[0].GetTotal() != 100 {
				t.Errorf("progress %v", got.progress)
			}
			wait := p.watch(t)
			p.mustCall(t, "test_trigger_tool_change", `{}`)
			wait("ToolsChanged", func(ev *adapterpb.WatchEvent) bool { return ev.GetToolsChanged() != nil })
			if _, has := p.tools(t)["__transient_tool_for_list_changed"]; !has {
				t.Error("the new list lacks the new tool")
			}
		})
	}
}

// What a server of 2026-07-28 asks for goes to the host and comes back with the
// same call; what the host's caller can do goes along.
func TestGoSDKAsksForInput(t *testing.T) {
	t.Parallel()
	path := goSDKServer(t)
	for name, cfg := range map[string]config{"stdio": {Command: path}, "stateless": {URL: listening(t, path)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, cfg)
			req := &adapterpb.CallToolRequest{
				Tool: "test_input_required_result_elicitation", Arguments: []byte(`{}`), CallId: "c",
				Meta: []byte(`{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`),
			}
			asked, err := p.do(t, req)
			if err != nil || asked.input == nil || !strings.Contains(string(asked.input.GetRequests()), "What is your name?") {
				t.Fatalf("input %v, result %s, %v", asked.input, asked.result, err)
			}
			req.InputResponses = []byte(`{"user_name":{"action":"accept","content":{"name":"<you> & me"}}}`)
			req.RequestState = asked.input.GetRequestState()
			if got, err := p.do(t, req); err != nil || unquote(t, got.result) != "Hello, <you> & me!" {
				t.Errorf("result %s, %v", got.result, err)
			}
		})
	}
}

func TestContext7(t *testing.T) {
	t.Parallel()
	cfg := npmPackage(t, "@upstash/context7-mcp")
	cfg.Env["OTEL_SDK_DISABLED"], cfg.Env["CONTEXT7_API_URL"] = "true", "http://127.0.0.1:1" // it asks nobody out there
	p := serve(t, cfg)
	if tools := p.tools(t); len(tools) != 2 {
		t.Errorf("%d tools, want 2", len(tools))
	}
	if got := p.mustCall(t, "query-docs", `{"libraryId":"/a/b","query":"c"}`); !strings.Contains(got.result, "fetch failed") {
		t.Errorf("query-docs: %s", got.result)
	}
}
