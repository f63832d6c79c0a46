//go:build unix

package host_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// An adapter that is killed under load takes its own calls with it and nothing else:
// not those of other servers, not the list, and not clients that come just then.
func TestKillAnAdapterUnderLoad(t *testing.T) {
	t.Parallel()
	h := open(t, `
[host]
exposure = "direct"
[servers.a]
command = "${BUILT}/faultserver"
retry = "never"
[servers.b]
command = "${BUILT}/faultserver"
`)
	url := guarded(t, h)
	for name, opt := range map[string]mcp.Options{"modern": {}, "legacy": {SkipProbe: true}} {
		t.Run(name, func(t *testing.T) {
			dial := func() *mcp.Client {
				c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
				return c
			}
			c := dial()
			list := func(c *mcp.Client) string {
				raw, err := c.Request(patient(t), "tools/list", nil, mcp.RequestOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			}
			before := list(c)
			if _, err := c.CallTool(patient(t), "a__echo", []byte(`{"text":"up"}`), mcp.RequestOptions{}); err != nil {
				t.Fatal(err)
			}

			const each = 8
			ctx, stop := context.WithCancel(patient(t))
			defer stop()
			var work sync.WaitGroup
			var underway sync.WaitGroup
			underway.Add(each)
			var failedA, doneB atomic.Int64
			for range each {
				work.Go(func() { // ends with the adapter
					var once sync.Once
					raw, err := c.CallTool(ctx, "a__t_progress_forever", nil, mcp.RequestOptions{OnProgress: func(mcp.Progress) { once.Do(underway.Done) }})
					if err != nil || !gjson.GetBytes(raw, "isError").Bool() || !strings.Contains(string(raw), "connection-refused") {
						t.Errorf("a call of the killed adapter: %s %v", raw, err)
					}
					failedA.Add(1)
				})
				work.Go(func() {
					for ctx.Err() == nil {
						raw, err := c.CallTool(ctx, "b__echo", []byte(`{"text":"x"}`), mcp.RequestOptions{})
						if ctx.Err() != nil {
							return
						}
						if err != nil || gjson.GetBytes(raw, "content.0.text").String() != "x" {
							t.Errorf("a call of the other server: %s %v", raw, err)
							return
						}
						doneB.Add(1)
					}
				})
			}
			underway.Wait()
			victim := pidOf(t, h, "a")
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if now := list(dial()); now != before {
				t.Errorf("the list has changed to\n%s", now)
			}
			for failedA.Load() < each && ctx.Err() == nil {
				if raw, err := c.CallTool(ctx, "b__t_sleep", []byte(`{"ms":5}`), mcp.RequestOptions{}); err != nil || gjson.GetBytes(raw, "isError").Bool() {
					t.Fatalf("%s %v", raw, err)
				}
			}
			at := doneB.Load()
			for doneB.Load() < at+20 && ctx.Err() == nil && !t.Failed() {
				if raw, err := c.CallTool(ctx, "a__echo", []byte(`{"text":"again"}`), mcp.RequestOptions{}); err != nil || gjson.GetBytes(raw, "content.0.text").String() != "again" {
					t.Fatalf("after the kill: %s %v", raw, err)
				}
			}
			stop()
			work.Wait()
			if pid := pidOf(t, h, "a"); pid == victim || pid == 0 {
				t.Errorf("pid %d after %d", pid, victim)
			}
			if now := list(c); now != before {
				t.Errorf("the list has changed to\n%s", now)
			}
		})
	}
}
