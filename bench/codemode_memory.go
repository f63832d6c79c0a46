package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/bench/internal/proc"
	"github.com/collet-dev/collet/host"
)

// idleProcess measures the resident memory of the process that a host keeps ready
// for the next script: that of the shipped program.
func idleProcess(ctx context.Context, t *table, p *programs) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	const limit, readyFrame = 12 << 20, 9
	var rss, own []int64
	for range 5 {
		cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "collet"), "__script")
		cmd.Env = []string{"GOMAXPROCS=1", "TZ=UTC"}
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		_, err = io.ReadFull(out, make([]byte, readyFrame))
		if err == nil {
			err = sleep(ctx, 2*settle)
		}
		var r, s int64
		if err == nil {
			r, err = proc.Bytes(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid), "VmRSS")
		}
		if err == nil {
			s, err = proc.Bytes(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid), "Pss_Anon")
		}
		in.Close()
		if err := errors.Join(err, cmd.Wait()); err != nil {
			return fmt.Errorf("the process of a script: %w", err)
		}
		rss, own = append(rss, r), append(own, s)
	}
	m := median(rss)
	t.line("RSS of a script's process that waits", "-", fmt.Sprintf("%s (its own %s)", size(m), size(median(own))), "", "<= "+size(limit), m <= limit)
	return nil
}

// flood are scripts that try to fill the memory of the host; the last does so with
// results that a script may have.
var flood = []string{
	`return (await Promise.allSettled(Array.from({length: 5}, () => tools.s.rows({bytes: 100e6})))).length`,
	`for (;;) console.log("x".repeat(1000))`,
	`for (;;) text("x".repeat(1000))`,
	`for (;;) text("")`,
	`const a = []; for (;;) a.push(new Array(1000).fill(a.length))`,
	`const text = "x".repeat(1e6); for (let i = 0; i < 500; i++) await tools.s.echo({text})`,
	`await Promise.allSettled(Array.from({length: 100000}, () => tools.s.echo({text: "x"})))`,
	`throw new Error("x".repeat(5e6))`,
	`for (let i = 0; ; i++) store("k" + i, "x".repeat(1e5))`,
	`const results = await Promise.allSettled(Array.from({length: 40}, () => tools.s.rows({bytes: 15e6}))); return results.length`,
}

// hostileMemory measures by how much such scripts raise the host's peak, in a
// process of its own.
func hostileMemory(ctx context.Context, t *table, p *programs, server string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-bin", p.bin, "-flood", server)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("measure a host under hostile scripts: %w", err)
	}
	const limit = 64 << 20
	var all []int64
	for i, word := range strings.Fields(string(out)) {
		grown, err := strconv.ParseInt(word, 10, 64)
		if err != nil || i >= len(flood) {
			return fmt.Errorf("it said %q", out)
		}
		all = append(all, grown)
	}
	if len(all) != len(flood) {
		return fmt.Errorf("it said %q", out)
	}
	last := len(all) - 1
	worst := slices.Max(all[:last])
	t.line("growth of the host's peak by hostile scripts, the worst", "-", size(worst), "", "<= "+size(limit), worst <= limit)
	t.line("the same by 40 results of 15 MB side by side", "-", size(all[last]), "", "<= "+size(limit), all[last] <= limit)
	return nil
}

// reportFlood is the process whose peak is measured; a line for each script.
func reportFlood(ctx context.Context, bin, server string) error {
	dir, err := os.MkdirTemp("", "collet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h, err := openForScripts(ctx, bin, dir, server)
	if err != nil {
		return err
	}
	defer h.Close()
	for range 20 {
		if _, err := script(ctx, h, `for (let i = 0; i < 100; i++) await tools.s.echo({text: "x"}); return 1`, "1", host.ScriptLimits{}); err != nil {
			return err
		}
	}
	before, err := proc.Bytes("/proc/self/status", "VmRSS")
	if err != nil {
		return err
	}
	for _, source := range flood {
		// "5" sets the peak to what is resident now (proc_pid_clear_refs(5)).
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			return err
		}
		_, err := h.Run(ctx, host.ScriptRequest{Source: source, Limits: host.ScriptLimits{Timeout: 10 * time.Second}})
		if err != nil {
			return err
		}
		peak, err := proc.Bytes("/proc/self/status", "VmHWM")
		if err != nil {
			return err
		}
		fmt.Println(peak - before)
		if _, err := script(ctx, h, `return (await tools.s.echo({text: "x"})).length`, "1", host.ScriptLimits{}); err != nil {
			return fmt.Errorf("the script after %.100q: %w", source, err)
		}
	}
	return nil
}
