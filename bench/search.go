package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// searching runs the benchmarks of tool search, which stand beside it, and shows what
// they report; see search/README.md.
func searching(ctx context.Context, t *table) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "github.com/collet-dev/collet/host/internal/search")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("benchmarks of tool search: %w\n%s%s", err, out, stderr.Bytes())
	}
	found := benchmarks(out)
	for _, need := range []struct{ name, unit string }{{"Build/10000", "MB"}, {"Build/10000", "ns/op"}, {"Search/10000", "p99-µs"}} {
		if _, ok := found[need.name][need.unit]; !ok {
			return fmt.Errorf("benchmarks of tool search: no %s of %s in\n%s", need.unit, need.name, out)
		}
	}
	const size, build, p99 = 10, time.Second, 20 * time.Millisecond
	for _, n := range []string{"1000", "10000"} {
		b, s := found["Build/"+n], found["Search/"+n]
		took, last := time.Duration(b["ns/op"]), time.Duration(s["p99-µs"])*time.Microsecond
		if n == "10000" {
			t.line("search index of "+n+" tools, size", "-", fmt.Sprintf("%.1f MB", b["MB"]), "", fmt.Sprintf("<= %d MB", size), b["MB"] <= size)
			t.line("search index of "+n+" tools, build", "-", millis(took), "", "<= "+millis(build), took <= build)
			t.line("search in "+n+" tools, p99", "-", micros(last), "", "<= "+millis(p99), last <= p99)
		} else {
			t.note("search index of "+n+" tools, size and build", "-", fmt.Sprintf("%.1f MB, %s", b["MB"], millis(took)), "")
			t.note("search in "+n+" tools, p99", "-", micros(last), "")
		}
		t.note("search in "+n+" tools, p50", "-", micros(time.Duration(s["p50-µs"])*time.Microsecond), "")
		t.note("search in "+n+" tools, R@1, R@5, R@10, MRR", "-", fmt.Sprintf("%.2f, %.2f, %.2f, %.2f", s["R@1"], s["R@5"], s["R@10"], s["MRR"]), "")
	}
	if took, ok := found["Replace"]["ns/op"]; ok {
		t.note("a server's 100 tools replaced among 10000", "-", millis(time.Duration(took)), "")
	}
	return nil
}

// benchmarks reads what go test prints of benchmarks, by name and unit
// (golang.org/design/14313-benchmark-format).
func benchmarks(out []byte) map[string]map[string]float64 {
	found := map[string]map[string]float64{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 { // GOMAXPROCS, when it is not 1
			name = name[:i]
		}
		values := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[fields[i+1]] = v
			}
		}
		found[name] = values
	}
	return found
}
