package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// whole are the results of a run in which each figure was measured once.
func whole() *results {
	t := newTable(io.Discard)
	for _, name := range figures() {
		t.name = name
		t.atMost(name+" | a figure", "1 ms", "2 ms", 2, 3)
	}
	return &results{machine: "a machine", commit: "commit abc", rows: t.rows}
}

func TestMarkdown(t *testing.T) {
	r := whole()
	r.rows["cold"] = append(r.rows["cold"], row{"too slow", "1 ms", "9 ms", "9.00", "<= 3.00", "NO"}, row{"as it is", "-", "4 KiB", "", "-", ""})
	page, err := r.markdown()
	if err != nil {
		t.Fatal(err)
	}
	n := len(figures())
	for _, want := range []string{
		"- a machine\n- commit abc\n",
		fmt.Sprintf("\n- %d of %d targets met; missed: too slow\n", n, n+1),
		"\n## A command\n\n| figure | floor | collet | ratio | target | met |\n|---|---|---|---|---|---|\n| cold \\| a figure | 1 ms | 2 ms | 2.00 | <= 3.00 | yes |\n" +
			"| too slow | 1 ms | 9 ms | 9.00 | <= 3.00 | NO |\n| as it is | - | 4 KiB |  | - |  |\n",
		"\n## Tool search\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("not in the page: %q\n%s", want, page)
		}
	}
}

// Part of a run is no page, and neither is a figure that no group has.
func TestMarkdownOfAWholeRun(t *testing.T) {
	r := whole()
	delete(r.rows, "kill")
	if _, err := r.markdown(); err == nil || !strings.Contains(err.Error(), "kill was not measured") {
		t.Errorf("without a figure: %v", err)
	}
	r = whole()
	r.rows["novelty"] = r.rows["kill"]
	if _, err := r.markdown(); err == nil || !strings.Contains(err.Error(), "novelty") {
		t.Errorf("with a figure of no group: %v", err)
	}
}

// Every figure that run measures has its group, and every group is measured.
func TestGroups(t *testing.T) {
	var measured []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`only\.do\(t, "([^"]+)"|\{"([a-z][a-z-]*)", [a-z]\w*\}`).FindAllSubmatch(b, -1) {
			measured = append(measured, string(m[1])+string(m[2]))
		}
	}
	want := figures()
	slices.Sort(want)
	slices.Sort(measured)
	if !slices.Equal(measured, want) {
		t.Errorf("measured are\n%q, groups have\n%q", measured, want)
	}
}

func TestBenchmarks(t *testing.T) {
	found := benchmarks([]byte("goos: linux\nBenchmarkBuild/10000-2   \t  3\t 412345678 ns/op\t 8.125 MB\nBenchmarkReplace \t 100\t 1234 ns/op\nPASS\nok  x 3 s\n"))
	if len(found) != 2 || found["Build/10000"]["MB"] != 8.125 || found["Build/10000"]["ns/op"] != 412345678 || found["Replace"]["ns/op"] != 1234 {
		t.Errorf("%v", found)
	}
}
