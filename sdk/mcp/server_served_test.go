package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// rootsFor answers what a server asks.
func rootsFor(asked chan<- string) Answerer {
	return func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		asked <- method
		return json.RawMessage(`{"roots":[{"uri":"file:///r"}]}`), nil
	}
}

// checkServed has a client of ours do what a client does.
func checkServed(t *testing.T, c *Client, d *desk, version string) {
	t.Helper()
	server := c.Server()
	if server.ProtocolVersion != version || !strings.Contains(string(server.Info), `"desk"`) || server.Instructions != "ask\nnicely" {
		t.Errorf("the server says %+v", server)
	}
	tools, err := c.ListTools(within(t))
	if err != nil || len(tools) != 2 {
		t.Errorf("ListTools = %s, %v", tools, err)
	}
	if got := said(t, callTool(t, c, "echo", `{"text":"<&> \u2028"}`)); got != "<&> \u2028" {
		t.Errorf("echo says %q", got)
	}
	if got := said(t, callTool(t, c, "mirror", `{"text":"x","region":" ü","n":-9007199254740993}`)); got != "x" {
		t.Errorf("mirror says %q", got)
	}
	var progress []Progress
	if _, err := c.CallTool(within(t), "steps", nil, RequestOptions{OnProgress: func(p Progress) { progress = append(progress, p) }}); err != nil ||
		len(progress) != 3 || progress[2] != (Progress{Done: 3, Total: 3}) {
		t.Errorf("steps: %v, %v", progress, err)
	}
	want := `{"roots":[{"uri":"file:///r"}]}`
	if server.Modern {
		want = "nobody to ask"
	}
	if got := said(t, callTool(t, c, "ask", `{"method":"roots/list"}`)); got != want {
		t.Errorf("ask says %q, want %q", got, want)
	}
	f := callFails(t, c, "fail", "{}")
	if f.UpstreamCode != -32021 || f.Message != "no" || string(f.UpstreamData) != `{"requiredCapabilities":{"sampling":{}}}` {
		t.Errorf("failure %+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "wait", nil, RequestOptions{})
		done <- err
	}()
	<-d.began
	cancel()
	<-done
	select {
	case <-d.canceled:
	case <-within(t).Done():
		t.Error("the cancellation did not arrive")
	}
	large := `{"content":[],"structuredContent":{"n":9007199254740993,"s":"` + strings.Repeat("é", 1<<20) + `"}}`
	if got := callTool(t, c, "raw", `{"result":`+large+`}`); !strings.HasSuffix(got, large[1:]) {
		t.Errorf("a large result came back as %d bytes, %.100s", len(got), got)
	}
}

func TestStdioServesOurClient(t *testing.T) {
	for _, test := range []struct {
		version string
		opt     Options
	}{
		{"2026-07-28", Options{}},
		{"2025-11-25", Options{SkipProbe: true}},
	} {
		t.Run(test.version, func(t *testing.T) {
			c := connectTo(t, peer{cmd: self(t, "server")}, test.opt)
			if c.Server().ProtocolVersion != test.version {
				t.Errorf("version %s", c.Server().ProtocolVersion)
			}
			echoes(t, c)
		})
	}
}
