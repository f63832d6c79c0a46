package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one figure, as it is shown.
type row struct{ figure, floor, collet, ratio, target, met string }

// groups are the parts of the results, in their order, each with the figures (-only)
// it is made of.
var groups = []struct {
	title   string
	figures []string
}{
	{"A command", []string{"cold", "running"}},
	{"A call", []string{"warm", "throughput", "large", "http", "allocations"}},
	{"Servers", []string{"many", "kill"}},
	{"Memory", []string{"growth", "pss", "front-idle", "front-sessions"}},
	{"collet serve", []string{"front-warm", "front-throughput", "front-large", "front-list", "front-dead"}},
	{"Scripts", []string{"codemode"}},
	{"Tool search", []string{"search"}},
}

// results are the figures of one run.
type results struct {
	machine string
	commit  string
	rows    map[string][]row // by the name of -only
}

// markdown is the page of the results. It fails when a figure is missing: part of a
// run is no result.
func (r *results) markdown() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Results\n\nWritten by `make bench`; [README.md](README.md) says what each figure and its floor are.\n\n- %s\n- %s\n", r.machine, r.commit)
	met, missed := 0, []string{}
	for name, rows := range r.rows {
		if !slices.Contains(figures(), name) {
			return nil, fmt.Errorf("%s belongs to no group of the results", name)
		}
		for _, f := range rows {
			switch f.met {
			case "yes":
				met++
			case "NO":
				missed = append(missed, f.figure)
			}
		}
	}
	slices.Sort(missed)
	fmt.Fprintf(&b, "- %d of %d targets met", met, met+len(missed))
	if len(missed) > 0 {
		fmt.Fprintf(&b, "; missed: %s", strings.Join(missed, "; "))
	}
	b.WriteString("\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| figure | floor | collet | ratio | target | met |\n|---|---|---|---|---|---|\n", g.title)
		for _, name := range g.figures {
			if len(r.rows[name]) == 0 {
				return nil, fmt.Errorf("%s was not measured: results are written of a whole run on Linux", name)
			}
			for _, f := range r.rows[name] {
				cells := []string{f.figure, f.floor, f.collet, f.ratio, f.target, f.met}
				for i, c := range cells {
					cells[i] = strings.ReplaceAll(c, "|", `\|`)
				}
				fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			}
		}
	}
	return b.Bytes(), nil
}

// figures are all that -only knows.
func figures() []string {
	var all []string
	for _, g := range groups {
		all = append(all, g.figures...)
	}
	return all
}

// machine is what the figures were measured on, and how busy that was.
func machine() string {
	line := fmt.Sprintf("%s, %d cores, %s %s/%s, %s", processor(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		time.Now().UTC().Format(time.DateOnly))
	load, cores := loadAverage(), float64(runtime.NumCPU())
	if load < 0 {
		return line
	}
	line += fmt.Sprintf(", load %.2f before it began", load)
	if load > cores/4 {
		line += ": **the machine was not quiet**"
	}
	return line
}

func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "a processor"
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor"
}

// loadAverage is that of the last minute, less than 0 where it is not known.
func loadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	word, _, _ := strings.Cut(string(b), " ")
	load, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return -1
	}
	return load
}

// commit is what was measured.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "an unknown commit"
	}
	return "commit " + strings.TrimSpace(string(out))
}
