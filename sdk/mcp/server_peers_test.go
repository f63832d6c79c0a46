package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	official "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official Go SDK's client, an implementation that shares no line with ours,
// over every transport and in both eras.
func TestServesTheOfficialClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} {
		for _, transport := range []string{"stdio", "http", "sse"} {
			if transport == "sse" && version != "2025-03-26" {
				continue
			}
			t.Run(version+"/"+transport, func(t *testing.T) {
				d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
				s := deskServer(t, d, ServerOptions{})
				var to official.Transport
				switch url := publish(t, s); transport {
				case "stdio":
					to = pipesTo(t, s)
				case "http":
					to = &official.StreamableClientTransport{Endpoint: url}
				case "sse":
					to = &official.SSEClientTransport{Endpoint: strings.TrimSuffix(url, "/mcp") + "/sse"}
				}
				steps, changes := make(chan float64, 10), make(chan bool, 10)
				c := official.NewClient(&official.Implementation{Name: "official", Version: "1"}, &official.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *official.ProgressNotificationClientRequest) {
						steps <- r.Params.Progress
					},
					ToolListChangedHandler: func(context.Context, *official.ToolListChangedRequest) { changes <- true },
					ElicitationHandler: func(context.Context, *official.ElicitRequest) (*official.ElicitResult, error) {
						return &official.ElicitResult{Action: "decline"}, nil
					},
				})
				session, err := c.Connect(within(t), to, &official.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				checkOfficial(t, session, s, d, version, steps, changes)
			})
		}
	}
}

// pipesTo serves a client over pipes.
func pipesTo(t *testing.T, s *Server) official.Transport {
	t.Helper()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- s.ServeStdio(context.Background(), theirs, out)
		theirs.Close()
		out.Close()
	}()
	t.Cleanup(func() {
		ours.Close()
		if err := <-ended; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return &official.IOTransport{Reader: back, Writer: ours}
}

func checkOfficial(t *testing.T, c *official.ClientSession, s *Server, d *desk, version string, steps chan float64, changes chan bool) {
	t.Helper()
	if got := c.InitializeResult(); got.ProtocolVersion != version || got.Instructions != "ask\nnicely" {
		t.Errorf("negotiated %+v", got)
	}
	tools, err := c.ListTools(within(t), nil)
	if err != nil || len(tools.Tools) != 2 {
		t.Fatalf("ListTools = %+v, %v", tools, err)
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		p := &official.CallToolParams{Name: tool, Arguments: args}
		p.SetProgressToken("token-" + tool)
		r, err := c.CallTool(within(t), p)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return r.Content[0].(*official.TextContent).Text
	}
	if got := call("echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Errorf("echo says %q", got)
	}
	if got := call("mirror", map[string]any{"text": "x", "region": "zürich", "n": 7}); got != "x" {
		t.Errorf("mirror says %q", got)
	}
	call("steps", nil)
	for i := range 3 {
		select {
		case got := <-steps:
			if got != float64(i+1) {
				t.Errorf("progress %v, want %d", got, i+1)
			}
		case <-within(t).Done():
			t.Fatal("no progress")
		}
	}
	want := `{"action":"decline"}`
	if version == modernVersion {
		want = "nobody to ask"
	}
	if got := call("ask", map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}}); got != want {
		t.Errorf("ask says %q, want %q", got, want)
	}
	_, err = c.CallTool(within(t), &official.CallToolParams{Name: "nothing"})
	if e := (*jsonrpc.Error)(nil); !errors.As(err, &e) || e.Code != codeInvalidParams {
		t.Errorf("unknown tool: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-d.began
		cancel()
	}()
	if _, err := c.CallTool(ctx, &official.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	select {
	case <-d.canceled:
	case <-within(t).Done():
		t.Error("the cancellation did not arrive")
	}
	// A modern client's subscription begins beside its other requests.
	for told := false; !told; {
		s.Notify("notifications/tools/list_changed", nil, nil)
		select {
		case <-changes:
			told = true
		case <-time.After(50 * time.Millisecond):
		case <-within(t).Done():
			t.Fatal("no notification")
		}
	}
}

// The clients of the TypeScript SDK: version 1, of the initialize era, and version 2,
// of both.
func TestServesTypeScriptClients(t *testing.T) {
	if testing.Short() {
		t.Skip("starts node")
	}
	suite(t, "COLLET_NPM_DIR", "npm", "node_modules", "@modelcontextprotocol", "client", "package.json")
	modules := suite(t, "COLLET_NPM_DIR", "npm", "node_modules")
	script, err := os.ReadFile("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	// node looks for packages beside the script.
	program := t.TempDir() + "/client.mjs"
	if err := errors.Join(os.WriteFile(program, script, 0o600), os.Symlink(modules, strings.TrimSuffix(program, "client.mjs")+"node_modules")); err != nil {
		t.Fatal(err)
	}
	server := self(t, "server")
	for _, test := range []struct{ sdk, transport, version string }{
		{"v1", "stdio", "2025-11-25"},
		{"v1", "http", "2025-11-25"},
		{"v1", "sse", "2025-11-25"},
		{"v2", "stdio", "2026-07-28"},
		{"v2", "http", "2026-07-28"},
		{"v2legacy", "http", "2025-11-25"},
	} {
		t.Run(test.sdk+"/"+test.transport, func(t *testing.T) {
			d := &desk{began: make(chan *Incoming, 1), canceled: make(chan string, 1)}
			url := publish(t, deskServer(t, d, ServerOptions{}))
			if test.transport == "sse" {
				url = strings.TrimSuffix(url, "/mcp") + "/sse"
			}
			cmd := exec.CommandContext(within(t), "node", program, test.sdk, test.transport, url, server.Path)
			cmd.Env = append(os.Environ(), "MCP_TEST_PEER=server")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			var said struct {
				Version           string
				Tools             []string
				Echo, Mirror, Ask string
				Progress          []float64
				Unknown           int
				Canceled          bool
			}
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			ask := `{"action":"decline"}`
			if test.version == modernVersion {
				ask = "nobody to ask"
			}
			if said.Version != test.version || len(said.Tools) != 2 || said.Echo != "<&>" || said.Mirror != "x" || said.Ask != ask ||
				len(said.Progress) != 3 || said.Unknown != codeInvalidParams || !said.Canceled {
				t.Errorf("the client says %s", out)
			}
			if test.transport != "stdio" {
				select {
				case <-d.canceled:
				case <-within(t).Done():
					t.Error("the cancellation did not arrive")
				}
			}
		})
	}
}
