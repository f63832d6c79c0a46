package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/launch"
)

// The most allocations of a small call, the adapter's one progress event included: of the
// host, and of a front on top of it. They are what is measured, rounded up; the race
// detector has a few of its own.
const (
	hostAllocations  = 44
	frontAllocations = 28
	hostBytes        = 4 << 10
	frontBytes       = 3 << 10
)

// A call has no more allocations than it had, which is fewer than the server-streaming
// call has that an adapter without streams of many calls needs.
func TestAllocations(t *testing.T) {
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
	if count > hostAllocations+raceAllocations || count > bareCount {
		t.Errorf("a call has %.1f allocations, want at most %d", count, hostAllocations)
	}
	if raceAllocations == 0 && bytes > hostBytes {
		t.Errorf("a call allocates %.0f bytes, want at most %d", bytes, hostBytes)
	}
}

// A front adds little to a call: the way of a line to the host and of the answer back.
func TestAllocationsOfFront(t *testing.T) {
	h := open(t, "[host]\nexposure = \"direct\"\n[servers.hello]\nplugin = \"hello\"\n")
	arguments := []byte(`{"name":"0123456789012345678901234567890123456789"}`)
	direct, directBytes := allocated(t, func(ctx context.Context) error {
		_, err := h.Call(ctx, host.Request{Tool: "hello/greet", Arguments: arguments})
		return err
	})
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	front := h.Front()
	served := make(chan error, 1)
	go func() { served <- front.ServeStdio(context.Background(), in, out) }()
	defer func() {
		feed.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, f := range []io.Closer{in, back, out} {
			f.Close()
		}
		if err := front.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	answers := bufio.NewReader(back)
	request := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello__greet","arguments":` + string(arguments) +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	count, bytes := allocated(t, func(context.Context) error {
		if _, err := feed.Write(request); err != nil {
			return err
		}
		answer, err := answers.ReadSlice('\n')
		if err == nil && !strings.Contains(string(answer), "Hello, 0123456789") {
			err = fmt.Errorf("the answer is %s", answer)
		}
		return err
	})
	t.Logf("%.1f allocations and %.0f bytes per call, of which the host's are %.1f and %.0f", count, bytes, direct, directBytes)
	if over := count - direct; over > frontAllocations+raceAllocations {
		t.Errorf("a front adds %.1f allocations to a call, want at most %d", over, frontAllocations)
	}
	if over := bytes - directBytes; raceAllocations == 0 && over > frontBytes {
		t.Errorf("a front adds %.0f bytes to a call, want at most %d", over, frontBytes)
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
