// Command bench measures collet against floors in the same run and prints a
// table: what the processes that a call has to pass cost by themselves, what the
// call costs through collet, and whether the ratio meets its target. It never
// fails because a target is missed: times depend on the machine, ratios are for
// people to judge.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collet-dev/collet/bench/internal/machine"
	"github.com/collet-dev/collet/host"
)

func main() {
	host.ScriptProcess()
	bin := flag.String("bin", "bin", "the directory of collet and collet-plugin-mcp")
	memory := flag.Int("memory", 0, "")
	results := flag.Int("results", 1, "")
	echo := flag.String("echo", "", "")
	flood := flag.String("flood", "", "")
	only := flag.String("only", "", "")
	out := flag.String("out", "", "")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: bench [-bin DIR] [-only FIGURE,...] [-out FILE]\n\nMeasures the collet in DIR and prints a table, with -out to FILE, too; takes a few minutes.")
		for _, g := range groups {
			fmt.Fprintf(os.Stderr, "%s: %s\n", g.title, strings.Join(g.figures, ", "))
		}
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *memory > 0: // this program as its own child, see peakGrowth
		err = reportPeak(ctx, *bin, *echo, *results, *memory)
	case *flood != "": // see hostileMemory
		err = reportFlood(ctx, *bin, *flood)
	default:
		err = run(ctx, *bin, *out, slices.DeleteFunc(strings.Split(*only, ","), func(s string) bool { return s == "" }))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what was asked for, prints the table and writes the page of a whole run
// to the file out, unless that is empty.
func run(ctx context.Context, bin, out string, only selection) error {
	for _, name := range only {
		if !slices.Contains(figures(), name) {
			return fmt.Errorf("-only %s: no figure has that name", name)
		}
	}
	if out != "" && len(only) > 0 {
		return errors.New("-out is for a whole run, without -only")
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "collet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	on := machine.Line()
	fmt.Printf("%s\n\n", on)
	echo, plugin, proxy := filepath.Join(dir, "echoserver"), filepath.Join(dir, "bareplugin"), filepath.Join(dir, "sdkproxy")
	for out, pkg := range map[string]string{echo: "echoserver", plugin: "bareplugin", proxy: "sdkproxy"} {
		if err := build(ctx, out, pkg); err != nil {
			return err
		}
	}
	t := newTable(os.Stdout)
	p := &programs{bin: bin, dir: dir, echo: echo, plugin: plugin, proxy: proxy}
	err = errors.Join(
		together(ctx, t, only, peersConfig{bin: bin, dir: dir, echo: echo, plugin: plugin}),
		only.do(t, "growth", func() error { return peakGrowth(ctx, t, bin, echo) }),
		only.do(t, "cold", func() error { return cold(ctx, t, bin, dir, echo) }),
		only.do(t, "running", func() error { return running(ctx, t, bin, dir, echo) }),
		only.do(t, "http", func() error { return overHTTP(ctx, t, bin, dir, echo, plugin) }),
		only.do(t, "many", func() error { return listMany(ctx, t, bin, dir, echo, plugin) }),
		only.do(t, "kill", func() error { return recovery(ctx, t, bin, dir, echo) }),
		only.do(t, "pss", func() error { return pss(ctx, t, bin, dir, echo) }),
		behindServe(ctx, t, only, p),
		only.do(t, "front-list", func() error { return frontList(ctx, t, p) }),
		only.do(t, "front-dead", func() error { return frontDead(ctx, t, p) }),
		only.do(t, "front-idle", func() error { return frontIdle(ctx, t, p) }),
		only.do(t, "front-sessions", func() error { return frontSessions(ctx, t) }),
		only.do(t, "codemode", func() error { return codemode(ctx, t, p) }),
		only.do(t, "search", func() error { return searching(ctx, t) }),
	)
	if err = errors.Join(err, t.flush()); err != nil || out == "" {
		return err
	}
	page, err := (&results{machine: on, commit: machine.Commit(), rows: t.rows}).markdown()
	if err != nil {
		return err
	}
	return os.WriteFile(out, page, 0o644)
}

// together measures what shares one set of peers.
func together(ctx context.Context, t *table, only selection, c peersConfig) error {
	measures := []struct {
		name string
		do   func(context.Context, *table, *peers) error
	}{{"warm", warm}, {"throughput", throughput}, {"large", large}, {"allocations", allocations}}
	var open *peers
	for _, m := range measures {
		err := only.do(t, m.name, func() (err error) {
			if open == nil {
				if open, err = openPeers(ctx, c); err != nil {
					return err
				}
			}
			return m.do(ctx, t, open)
		})
		if err != nil {
			return err
		}
	}
	if open != nil {
		open.close()
	}
	return nil
}

// behindServe measures what shares one set of fronts.
func behindServe(ctx context.Context, t *table, only selection, p *programs) error {
	measures := []struct {
		name string
		do   func(context.Context, *table, *fronts) error
	}{{"front-warm", frontWarm}, {"front-throughput", frontThroughput}, {"front-large", frontLarge}}
	var open *fronts
	for _, m := range measures {
		err := only.do(t, m.name, func() (err error) {
			if open == nil {
				if open, err = openFronts(ctx, p); err != nil {
					return err
				}
			}
			return m.do(ctx, t, open)
		})
		if err != nil {
			return err
		}
	}
	if open != nil {
		open.close()
	}
	return nil
}

// selection is the figures that were asked for; none means all.
type selection []string

func (s selection) do(t *table, name string, measure func() error) error {
	if len(s) > 0 && !slices.Contains(s, name) {
		return nil
	}
	t.name = name
	return measure()
}

func build(ctx context.Context, out, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, "github.com/collet-dev/collet/bench/internal/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s (run bench in its repository): %w\n%s", pkg, err, text)
	}
	return nil
}
