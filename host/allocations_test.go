package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/collet-dev/collet/host"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/launch"
)

// What the host does around a call costs it few allocations and bytes beyond the
// server-streaming call that it has to make in any case.
func TestAllocations(t *testing.T) {
	const (
		maxCount = 60
		maxBytes = 16 << 10
	)
	arguments := []byte(`{"name":"0123456789012345678901234567890123456789"}`)

	h := open(t, "[servers.hello]\nplugin = \"hello\"\n")
	count, bytes := allocated(t, func(ctx context.Context) error {
		_, err := h.Call(ctx, host.Request{Tool: "hello/greet", Arguments: arguments})
		return err
	})

	adapter := bareHello(t)
	bareCount, bareBytes := allocated(t, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := adapter.CallTool(ctx, &adapterpb.CallToolRequest{Tool: "greet", Arguments: arguments, CallId: "0123456789abcdef"})
		if err != nil {
			return err
		}
		for {
			ev, err := stream.Recv() // progress, and the result
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if r := ev.GetResult(); r != nil && r.GetIsError() {
				return fmt.Errorf("the tool says %s", r.GetResult())
			}
		}
	})

	t.Logf("%.1f allocations and %.0f bytes per call; bare %.1f and %.0f", count, bytes, bareCount, bareBytes)
	if over := count - bareCount; over > maxCount {
		t.Errorf("a call has %.1f allocations more than a bare one, want at most %d", over, maxCount)
	}
	if over := bytes - bareBytes; over > maxBytes {
		t.Errorf("a call allocates %.0f bytes more than a bare one, want at most %d", over, maxBytes)
	}
}

// allocated returns what this process allocates per call once it is warm.
func allocated(t *testing.T, call func(context.Context) error) (count, bytes float64) {
	t.Helper()
	ctx := patient(t)
	measure := func(calls int) runtime.MemStats {
		for range calls {
			if err := call(ctx); err != nil {
				t.Fatal(err)
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m
	}
	const calls = 500
	before := measure(50)
	after := measure(calls)
	return float64(after.Mallocs-before.Mallocs) / calls, float64(after.TotalAlloc-before.TotalAlloc) / calls
}

// bareHello starts the hello plugin below the host.
func bareHello(t *testing.T) adapterpb.AdapterClient {
	t.Helper()
	p, err := launch.Start(patient(t), launch.Spec{Path: filepath.Join(built, "collet-plugin-hello"), Name: "hello", Env: launch.ShortEnv(os.Environ())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error("stop:", err)
		}
	})
	if _, err := p.Adapter().Configure(patient(t), &adapterpb.ConfigureRequest{Server: "hello", Config: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	return p.Adapter()
}
