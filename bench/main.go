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
	"runtime"
)

func main() {
	bin := flag.String("bin", "bin", "the directory of collet and collet-plugin-mcp")
	memory := flag.Int("memory", 0, "")
	results := flag.Int("results", 1, "")
	echo := flag.String("echo", "", "")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: bench [-bin DIR]\n\nMeasures the collet in DIR and prints a table; takes about a minute.")
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *memory > 0 { // this program as its own child, see peakGrowth
		err = reportPeak(ctx, *bin, *echo, *results, *memory)
	} else {
		err = run(ctx, *bin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures everything and prints the table.
func run(ctx context.Context, bin string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "collet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%d cores, %s %s/%s\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	echo, plugin := filepath.Join(dir, "echoserver"), filepath.Join(dir, "bareplugin")
	for out, pkg := range map[string]string{echo: "echoserver", plugin: "bareplugin"} {
		if err := build(ctx, out, pkg); err != nil {
			return err
		}
	}
	p, err := openPeers(ctx, peersConfig{bin: bin, dir: dir, echo: echo, plugin: plugin})
	if err != nil {
		return err
	}
	t := newTable(os.Stdout)
	err = errors.Join(
		warm(ctx, t, p),
		throughput(ctx, t, p),
		large(ctx, t, p),
		allocations(ctx, t, p),
	)
	p.close()
	if err == nil {
		err = errors.Join(
			peakGrowth(ctx, t, bin, echo),
			cold(ctx, t, bin, dir, echo),
			pss(ctx, t, bin, dir, echo),
		)
	}
	return errors.Join(err, t.flush())
}

func build(ctx context.Context, out, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, "github.com/collet-dev/collet/bench/internal/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s (run bench in its repository): %w\n%s", pkg, err, text)
	}
	return nil
}
