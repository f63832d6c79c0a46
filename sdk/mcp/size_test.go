package mcp

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// allocated is how many bytes f allocates, in this whole process: no test with
// it may be parallel to others. What is in use at a time is at most that.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// slack is what a call allocates besides its line, and what the runtime rounds
// up.
const slack = 2 << 20

// A result up to the limit arrives whole, at twice its size: as it is read, and
// put together.
func TestLargeResults(t *testing.T) {
	c := connect(t, "")
	for _, size := range []int{8 << 20, 20 << 20, wire.MaxLine - 1024} {
		args := fmt.Sprintf(`{"size":%d}`, size)
		var raw string
		used := allocated(func() { raw = callTool(t, c, "c_big", args) })
		if got, want := len(raw), len(`{"content":[{"type":"text","text":""}]}`)+size; got != want {
			t.Errorf("the result has %d bytes, want %d", got, want)
		}
		// callTool's string is a copy of its own.
		if limit := uint64(3*size + slack); used > limit {
			t.Errorf("%d bytes of result: %d allocated, want at most %d", size, used, limit)
		}
	}
}

// Arguments of any size go out once.
func TestLargeArguments(t *testing.T) {
	const size = 20 << 20
	c := connect(t, "")
	if got := len(said(t, callTool(t, c, "echo", `{"text":"`+strings.Repeat("x", size)+`"}`))); got != size {
		t.Errorf("%d bytes came back, want %d", got, size)
	}
}

// A message over the limit fails the request it answers, wherever its id is,
// and no other. It costs no more than one at the limit, however long it is.
func TestOversizedResult(t *testing.T) {
	for _, test := range []struct {
		faults string
		size   int
	}{
		{"", 65 << 20},
		{"idlast", 65 << 20},
		{"", 130 << 20},
	} {
		t.Run(fmt.Sprint(test.faults, test.size), func(t *testing.T) {
			c := connect(t, test.faults)
			ctx, cancel := context.WithCancel(t.Context())
			hung := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, "t_hang", nil, RequestOptions{})
				hung <- err
			}()
			waitPending(t, c, 1)
			var f *failure.Failure
			used := allocated(func() { f = callFails(t, c, "c_big", fmt.Sprintf(`{"size":%d}`, test.size)) })
			wantFailure(t, f, failure.InvalidResult, failure.Answered, fmt.Sprint("limit of ", wire.MaxLine, " bytes"))
			if limit := uint64(wire.MaxLine + slack); used > limit {
				t.Errorf("%d bytes allocated, want at most %d", used, limit)
			}
			echoes(t, c)
			if got := c.Stats().Oversized; got != 1 {
				t.Errorf("Oversized = %d, want 1", got)
			}
			cancel()
			wantFailure(t, asFailure(t, <-hung), failure.Canceled, failure.DeliveryUnknown)
		})
	}
}
