package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/bench/internal/load"
	"github.com/collet-dev/collet/bench/internal/proc"
	"github.com/collet-dev/collet/host"
)

// allocations measures what a warm call allocates in this process beyond a bare
// server-streaming call.
func allocations(ctx context.Context, t *table, p *peers) error {
	bareCount, bareBytes, err := allocated(ctx, p.g)
	if err != nil {
		return err
	}
	count, bytes, err := allocated(ctx, p.collet)
	if err != nil {
		return err
	}
	const maxCount, maxBytes = 60, 16 << 10
	t.line("allocations of the host per call", fmt.Sprintf("%.0f", bareCount), fmt.Sprintf("%.0f", count),
		fmt.Sprintf("+%.0f", count-bareCount), fmt.Sprintf("<= +%d", maxCount), count-bareCount <= maxCount)
	t.line("bytes allocated by the host per call", size(int64(bareBytes)), size(int64(bytes)),
		"+"+size(int64(bytes-bareBytes)), "<= +"+size(maxBytes), bytes-bareBytes <= maxBytes)
	return nil
}

func allocated(ctx context.Context, p peer) (count, bytes float64, err error) {
	const calls = 2000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		if _, err := p(ctx, "echo", load.Echo); err != nil {
			return 0, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls, float64(after.TotalAlloc-before.TotalAlloc) / calls, nil
}

// countedBelow is up to which size of a result growth is counted as bytes that are
// allocated for it, of which no more can become resident. The kernel's count of resident
// memory is off by some hundred KiB in a process of several threads.
const countedBelow = 1 << 20

// peakGrowth measures by how much large results raise the peak of a host's
// resident memory. Each sample is a process of its own.
func peakGrowth(ctx context.Context, t *table, bin, echo string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		results, bytes int
		words          string
	}{{1, 64 << 10, "a result"}, {1, 1 << 20, "a result"}, {1, 10 << 20, "a result"}, {5, 10 << 20, "five results in a row"}} {
		bytes := c.bytes
		var samples []int64
		for range 5 {
			cmd := exec.CommandContext(ctx, self, "-bin", bin, "-echo", echo, "-memory", strconv.Itoa(bytes), "-results", strconv.Itoa(c.results))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("measure the peak of a host: %w", err)
			}
			grown, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			if err != nil {
				return err
			}
			samples = append(samples, grown)
		}
		grown := median(samples)
		what := "growth of the host's peak, "
		if bytes < countedBelow {
			what = "memory that the host allocates for "
		}
		t.atMost(what+c.words+" of "+size(int64(bytes)), size(int64(bytes)), size(grown), float64(grown)/float64(bytes), 4)
	}
	return nil
}

// reportPeak is the process whose peak is measured: a warm host that gets so many
// results of that size.
func reportPeak(ctx context.Context, bin, echo string, results, bytes int) error {
	dir, err := os.MkdirTemp("", "collet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h, err := openHost(ctx, bin, dir, echo, 1)
	if err != nil {
		return err
	}
	defer h.Close()
	call := through(h)
	// Enough for a few garbage collections: what the heap's normal rise and fall
	// needs is resident from then on, and is no growth.
	for range 3000 {
		if _, err := call(ctx, "echo", load.Echo); err != nil {
			return err
		}
	}
	if bytes < countedBelow {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range results {
			if _, err := call(ctx, "blob", load.Blob(bytes)); err != nil {
				return err
			}
		}
		runtime.ReadMemStats(&after)
		fmt.Println(after.TotalAlloc - before.TotalAlloc)
		return nil
	}
	// "5" sets the peak to what is resident now (proc_pid_clear_refs(5)).
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return err
	}
	before, err := proc.Bytes("/proc/self/status", "VmRSS")
	if err != nil {
		return err
	}
	for range results {
		if _, err := call(ctx, "blob", load.Blob(bytes)); err != nil {
			return err
		}
	}
	after, err := proc.Bytes("/proc/self/status", "VmHWM")
	if err != nil {
		return err
	}
	fmt.Println(after - before)
	return nil
}

// pss measures the proportional set size of generic plugins, ten running, in the
// states of their lives.
func pss(ctx context.Context, t *table, bin, dir, echo string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	const (
		n    = 10
		rest = 11 * time.Second // an adapter gives memory back 10 s after its last call
	)
	h, err := openHost(ctx, bin, dir, echo, n)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, state := range []struct {
		calls int
		wait  time.Duration
		words string
		limit int64
	}{
		{calls: 20, words: "little used", limit: 6 << 20},
		{calls: 2000, words: "busy", limit: 6 << 20},
		{wait: rest, words: "at rest again", limit: 6 << 20},
	} {
		for i := range n * state.calls {
			if _, err := h.Call(ctx, host.Request{Tool: fmt.Sprintf("echo%d/echo", i%n), Arguments: load.Echo}); err != nil {
				return fmt.Errorf("collet: %w", err)
			}
		}
		select {
		case <-time.After(state.wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		samples, err := pssOf(ctx, h)
		if err != nil {
			return err
		}
		middle := median(samples)
		largest := samples[len(samples)-1]
		t.line(fmt.Sprintf("PSS of each of %d plugins, %s, median (max)", n, state.words), "-",
			fmt.Sprintf("%s (%s)", size(middle), size(largest)), "", "<= "+size(state.limit), middle <= state.limit)
	}
	return nil
}

func pssOf(ctx context.Context, h *host.Host) ([]int64, error) {
	listing, err := h.Tools(ctx, host.Query{})
	if err != nil {
		return nil, err
	}
	var samples []int64
	for _, s := range listing.Servers {
		b, err := proc.Bytes(fmt.Sprintf("/proc/%d/smaps_rollup", s.Pid), "Pss")
		if err != nil {
			return nil, err
		}
		samples = append(samples, b)
	}
	return samples, nil
}
