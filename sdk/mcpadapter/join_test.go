package mcpadapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// openJoined is a server of two parts, "a..." of the first and the rest of the second,
// and a host that watches it.
func openJoined(t *testing.T, first, second func(context.Context) (Upstream, error)) (*joined, *recorder) {
	t.Helper()
	r := &recorder{watching: make(chan struct{})}
	part := func(name string, connect func(context.Context) (Upstream, error)) Part {
		return Part{name, Options{Remote: true, Connect: func(ctx context.Context, _ *adapter.Env, _ mcp.Options) (Upstream, error) {
			<-r.watching
			return connect(ctx)
		}}}
	}
	j := Join(testEnv(), func(tool string) int {
		if strings.HasPrefix(tool, "a") {
			return 0
		}
		return 1
	}, part("First", first), part("Second", second)).(*joined)
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan struct{})
	go func() { defer close(watching); j.publish(ctx, r) }()
	t.Cleanup(func() {
		cancel()
		<-watching
		if err := j.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return j, r
}

func offering(name string, tools ...string) *fake {
	up := newFake()
	up.info = mcp.ServerInfo{Info: json.RawMessage(`{"name":"` + name + `"}`)}
	up.tools = func(context.Context) (list []json.RawMessage, _ error) {
		for _, t := range tools {
			list = append(list, json.RawMessage(`{"name":"`+t+`"}`))
		}
		return list, nil
	}
	up.call = func(_ context.Context, tool string, _ json.RawMessage, _ mcp.RequestOptions) (json.RawMessage, error) {
		return json.RawMessage(`{"by":"` + name + `","tool":"` + tool + `"}`), nil
	}
	return up
}

func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := make(chan struct{})
		j, host := openJoined(t, func(context.Context) (Upstream, error) { return offering("one", "a1", "shared"), nil },
			func(ctx context.Context) (Upstream, error) {
				select {
				case <-there:
				case <-ctx.Done():
				}
				return offering("two", "b1", "shared"), nil
			})
		synctest.Wait()
		host.wantLast(t, adapter.Connecting) // one of two is not enough to begin
		close(there)
		synctest.Wait()
		host.wantLast(t, adapter.Ready)
		if !strings.Contains(string(host.info), "one") {
			t.Errorf("info %s", host.info)
		}
		tools, err := j.Tools(t.Context())
		if err != nil || strings.Join(names(tools), " ") != "a1 b1 shared" {
			t.Errorf("tools %v, %v", names(tools), err)
		}
		for tool, by := range map[string]string{"a1": "one", "b1": "two"} {
			if res, err := j.Call(t.Context(), &adapter.Call{Tool: tool}); err != nil || !strings.Contains(string(res.JSON), by) {
				t.Errorf("%s: %v, %v", tool, res, err)
			}
		}
	})
}

// A part that cannot be reached is missed by name, and held against nobody else.
func TestJoinWithoutAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		one := offering("one", "a1")
		j, host := openJoined(t, func(context.Context) (Upstream, error) { return one, nil }, func(context.Context) (Upstream, error) {
			if down {
				return nil, failure.New(failure.DNSFailure, failure.NotSent, "no such host")
			}
			return offering("two", "b1"), nil
		})
		synctest.Wait()
		host.wantStates(t, adapter.Connecting, adapter.Degraded)
		if host.why.Class != failure.DNSFailure || host.why.Message != "Second: no such host" {
			t.Errorf("why %+v", host.why)
		}
		tools, err := j.Tools(t.Context())
		if err != nil || strings.Join(names(tools), " ") != "a1" {
			t.Errorf("tools %v, %v", names(tools), err)
		}
		_, err = j.Call(t.Context(), &adapter.Call{Tool: "b1"})
		wantFailure(t, err, failure.DNSFailure, failure.NotSent)

		down = false
		if _, err = j.Call(t.Context(), &adapter.Call{Tool: "b1"}); err != nil {
			t.Error(err)
		}
		settle()
		host.wantLast(t, adapter.Ready)
		if len(host.changes) != 1 {
			t.Errorf("changes %q, want the word that there are more tools", host.changes)
		}
		one.die(nil)
		synctest.Wait()
		host.wantLast(t, adapter.Degraded)
		for _, s := range host.states[2:] {
			if s == adapter.Connecting {
				t.Errorf("states %v: a part that connects again holds up nobody", host.states)
			}
		}
	})
}

func TestJoinOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context) (Upstream, error) {
			return nil, failure.New(failure.ConnectionRefused, failure.NotSent, "gone")
		}
		_, host := openJoined(t, refuse, refuse)
		synctest.Wait()
		host.wantLast(t, adapter.Degraded)
		if host.why.Message != "First: gone; Second: gone" {
			t.Errorf("why %q", host.why.Message)
		}
	})
}
