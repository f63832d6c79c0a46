package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
	"github.com/collet-dev/collet/host"
)

// scripts are hosts that scripts are measured with: warm keeps a process ready,
// cold does not.
type scripts struct {
	warm, cold *host.Host
	server     string // the program
}

func openScripts(ctx context.Context, p *programs) (*scripts, error) {
	s := &scripts{server: filepath.Join(p.dir, "scriptserver")}
	if err := build(ctx, s.server, "scriptserver"); err != nil {
		return nil, err
	}
	var err error
	if s.warm, err = openForScripts(ctx, p.bin, p.dir, s.server); err != nil {
		return nil, err
	}
	if s.cold, err = openForScripts(ctx, p.bin, p.dir, s.server); err != nil {
		s.warm.Close()
		return nil, err
	}
	return s, nil
}

func openForScripts(ctx context.Context, bin, dir, server string) (*host.Host, error) {
	own, err := os.MkdirTemp(dir, "scripts-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(own, "mcp.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "[servers.s]\ncommand = %q\n", server), 0o600); err != nil {
		return nil, err
	}
	return openConfig(ctx, bin, own, file)
}

func (s *scripts) close() {
	for _, h := range []*host.Host{s.warm, s.cold} {
		if err := h.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: close:", err)
		}
	}
}

// codemode measures scripts.
func codemode(ctx context.Context, t *table, p *programs) error {
	s, err := openScripts(ctx, p)
	if err != nil {
		return err
	}
	defer s.close()
	for _, measure := range []func(context.Context, *table) error{s.start, s.parallel, s.inTurn, s.large} {
		if err := measure(ctx, t); err != nil {
			return err
		}
	}
	if err := idleProcess(ctx, t, p); err != nil {
		return err
	}
	return hostileMemory(ctx, t, p, s.server)
}

// script runs a script that must return want.
func script(ctx context.Context, h *host.Host, source, want string, limits host.ScriptLimits) (host.ScriptOutcome, error) {
	out, err := h.Run(ctx, host.ScriptRequest{Source: source, Limits: limits})
	switch {
	case err != nil:
		return out, fmt.Errorf("run a script: %w", err)
	case out.Error != nil:
		return out, fmt.Errorf("the script %.100q failed: %s: %s", source, out.Error.Kind, out.Error.Message)
	case string(out.Value) != want:
		return out, fmt.Errorf("the script %.100q returned %.100s, not %s", source, out.Value, want)
	}
	return out, nil
}

// scripted is what is timed; ready is called before, and is not.
type scripted struct {
	ready func() error
	run   func() error
}

// settle is how long a process waits before it is used, as one of a host that is not
// busy does: longer than what it does while it waits.
const settle = 300 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *scripts) scripted(ctx context.Context, h *host.Host, source, want string, limits host.ScriptLimits) scripted {
	// Also before a cold one: the next process of the warm host does not start beside it.
	ready := func() error {
		if err := s.warm.PrepareScripts(ctx); err != nil {
			return err
		}
		return sleep(ctx, settle)
	}
	return scripted{ready, func() error { _, err := script(ctx, h, source, want, limits); return err }}
}

// direct is so many calls, one after the other, through the same pipeline.
func direct(ctx context.Context, h *host.Host, tool, arguments string, calls int) scripted {
	return scripted{func() error { return nil }, func() error {
		for range calls {
			if _, err := h.Call(ctx, host.Request{Tool: tool, Arguments: json.RawMessage(arguments)}); err != nil {
				return fmt.Errorf("collet: %w", err)
			}
		}
		return nil
	}}
}

// turns runs all in turns and returns the median time of each. The first round
// only warms up.
func turns(rounds int, all ...scripted) ([]time.Duration, error) {
	samples := make([][]time.Duration, len(all))
	for round := range rounds + 1 {
		for i, one := range all {
			if err := one.ready(); err != nil {
				return nil, err
			}
			begun := time.Now()
			if err := one.run(); err != nil {
				return nil, err
			}
			if round > 0 {
				samples[i] = append(samples[i], time.Since(begun))
			}
		}
	}
	medians := make([]time.Duration, len(all))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

// start measures a script that does nothing, beside one direct call and beside the
// start of the bare server, the least that starting a process takes.
func (s *scripts) start(ctx context.Context, t *table) error {
	bareStart := scripted{func() error { return nil }, func() error {
		b, err := bare.StartServer(s.server)
		if err != nil {
			return err
		}
		return b.Close()
	}}
	const source = `return 1`
	m, err := turns(30, direct(ctx, s.warm, "s/echo", string(load.Echo), 1), bareStart,
		s.scripted(ctx, s.warm, source, "1", host.ScriptLimits{}), s.scripted(ctx, s.cold, source, "1", host.ScriptLimits{}))
	if err != nil {
		return err
	}
	const warmLimit, coldLimit = 5 * time.Millisecond, 40 * time.Millisecond
	over := m[2] - m[0]
	t.line("script that does nothing, warm, p50", "a call "+millis(m[0]), millis(m[2]), "+"+millis(over), "<= +"+millis(warmLimit), over <= warmLimit)
	t.line("script that does nothing, cold, p50", "a bare process "+millis(m[1]), millis(m[3]), "", "<= "+millis(coldLimit), m[3] <= coldLimit)
	return nil
}

// parallel measures a hundred calls side by side of a tool that takes 50 ms.
func (s *scripts) parallel(ctx context.Context, t *table) error {
	const source = `return (await Promise.all(Array.from({length: 100}, () => tools.s.wait({ms: 50})))).length`
	m, err := turns(15, direct(ctx, s.warm, "s/wait", `{"ms":50}`, 1),
		s.scripted(ctx, s.warm, source, "100", host.ScriptLimits{InFlight: 100}), s.scripted(ctx, s.warm, source, "100", host.ScriptLimits{}))
	if err != nil {
		return err
	}
	t.atMost("100 parallel calls of 50 ms in a script, 100 in flight, p50", "one call "+millis(m[0]), millis(m[1]), float64(m[1])/float64(m[0]), 1.6)
	t.note("the same with the default, 16 in flight", "one call "+millis(m[0]), millis(m[2]), fmt.Sprintf("%.2f", float64(m[2])/float64(m[0])))
	return nil
}

// inTurn measures a thousand calls that are awaited one by one.
func (s *scripts) inTurn(ctx context.Context, t *table) error {
	source := `for (let i = 0; i < 1000; i++) await tools.s.echo(` + string(load.Echo) + `); return 1`
	m, err := turns(9, direct(ctx, s.warm, "s/echo", string(load.Echo), 1000), s.scripted(ctx, s.warm, source, "1", host.ScriptLimits{}))
	if err != nil {
		return err
	}
	limit := 2*m[0] + 250*time.Millisecond
	t.line("1000 awaited calls in a script, p50", "from Go "+millis(m[0]), millis(m[1]), fmt.Sprintf("%.2f", float64(m[1])/float64(m[0])), "<= 2 x + 250.0 ms", m[1] <= limit)
	return nil
}

// large measures the processor time of a script that gets 5 MB and answers with 1 KB:
// of this process, of the script's and of the adapter.
func (s *scripts) large(ctx context.Context, t *table) error {
	const bytes, limit = 5_000_000, time.Second
	pid := s.warm.Servers()[0].Pid
	for _, c := range []struct{ words, source string }{
		{"rows", `const { rows } = await tools.s.rows({bytes: ` + strconv.Itoa(bytes) + `}); return rows.filter((r) => r.comments > 38).map((r) => r.title).join().slice(0, 1024).length`},
		{"rows as text", `const { structuredContent } = await tools.s.rows.raw({bytes: ` + strconv.Itoa(bytes) + `}); return JSON.stringify(structuredContent).slice(-1024).length`},
	} {
		var host_, child, adapter, sum []time.Duration
		for round := range 8 {
			if err := s.warm.PrepareScripts(ctx); err != nil {
				return err
			}
			own, other, err := cpuTimes(pid)
			if err != nil {
				return err
			}
			out, err := script(ctx, s.warm, c.source, "1024", host.ScriptLimits{})
			if err != nil {
				return err
			}
			ownAfter, otherAfter, err := cpuTimes(pid)
			if err != nil {
				return err
			}
			if round > 0 {
				host_, child, adapter = append(host_, ownAfter-own), append(child, out.CPU), append(adapter, otherAfter-other)
				sum = append(sum, ownAfter-own+out.CPU+otherAfter-other)
			}
		}
		m := median(sum)
		t.line("CPU of a script that takes 5 MB, "+c.words+", p50", "-",
			fmt.Sprintf("%s (host %s, script %s, adapter %s)", millis(m), millis(median(host_)), millis(median(child)), millis(median(adapter))), "", "<= "+millis(limit), m <= limit)
	}
	return nil
}
