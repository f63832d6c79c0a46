package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// table prints one line per figure, and keeps them.
type table struct {
	w    *tabwriter.Writer
	name string           // of -only: what is being measured
	rows map[string][]row // by name
}

func newTable(w io.Writer) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), rows: map[string][]row{}}
	fmt.Fprintln(t.w, "figure\tfloor\tcollet\tratio\ttarget\tmet?")
	return t
}

// atMost adds a figure that should be no more than limit times its floor.
func (t *table) atMost(figure, floor, collet string, ratio, limit float64) {
	t.line(figure, floor, collet, fmt.Sprintf("%.2f", ratio), fmt.Sprintf("<= %.2f", limit), ratio <= limit)
}

// atLeast adds a figure that should be no less than limit times its floor.
func (t *table) atLeast(figure, floor, collet string, ratio, limit float64) {
	t.line(figure, floor, collet, fmt.Sprintf("%.2f", ratio), fmt.Sprintf(">= %.2f", limit), ratio >= limit)
}

func (t *table) line(figure, floor, collet, ratio, target string, met bool) {
	word := "yes"
	if !met {
		word = "NO"
	}
	t.add(row{figure, floor, collet, ratio, target, word})
}

// note adds a figure without a target.
func (t *table) note(figure, floor, collet, ratio string) {
	t.add(row{figure, floor, collet, ratio, "-", ""})
}

func (t *table) add(r row) {
	t.rows[t.name] = append(t.rows[t.name], r)
	fmt.Fprintf(t.w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.figure, r.floor, r.collet, r.ratio, r.target, r.met)
}

func (t *table) flush() error { return t.w.Flush() }

// micros shows a time in microseconds, the unit of calls.
func micros(d time.Duration) string {
	return fmt.Sprintf("%.1f us", float64(d)/float64(time.Microsecond))
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// median returns the middle of samples, which it sorts.
func median[T int64 | float64 | time.Duration](samples []T) T {
	slices.Sort(samples)
	return samples[len(samples)/2]
}
