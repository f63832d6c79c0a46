package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report is the page.
type report struct {
	machine, commit string
	versions        []string
	commands        []commandFigure
	gateways        []gatewayFigures
}

func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "# Beside others\n\nWritten by `make bench-peers`; [README.md](README.md#beside-others) says what is measured and how to read it.\n\n")
	fmt.Fprintf(w, "- %s\n- %s, %s\n", r.machine, r.commit, strings.Join(r.versions, ", "))
	fmt.Fprintf(w, "\n## A command, %d servers\n\n| p50 | collet | mcporter | |\n|---|---:|---:|---:|\n", servers)
	for _, f := range r.commands {
		fmt.Fprintf(w, "| %s | %s | %s | %.0f x |\n", f.what, millis(f.times[0]), millis(f.times[1]), float64(f.times[1])/float64(f.times[0]))
	}
	fmt.Fprintf(w, "\n## One server in front of %d\n\n| |", servers)
	for _, g := range r.gateways {
		fmt.Fprintf(w, " %s |", g.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(r.gateways)))
	for _, line := range []struct {
		what string
		cell func(gatewayFigures) string
	}{
		{"from its start to the list of all tools, p50", func(g gatewayFigures) string { return millis(g.first) }},
		{"the same beside one more server, which never answers", func(g gatewayFigures) string { return orNever(g.beside) }},
		{"a call, p50", func(g gatewayFigures) string { return micros(g.one) }},
		{fmt.Sprintf("calls/s, %d in flight", inFlight), func(g gatewayFigures) string { return fmt.Sprintf("%.0f", g.perSecond) }},
		{"a result of 1 MiB, p50", func(g gatewayFigures) string { return millis(g.large) }},
		{"memory after that (PSS, without the servers)", func(g gatewayFigures) string { return fmt.Sprintf("%.0f MiB", float64(g.memory)/(1<<20)) }},
		{"a server is killed (-9): until it answers again", func(g gatewayFigures) string { return orNever(g.recovered) }},
		{"... calls that fail meanwhile", func(g gatewayFigures) string { return fmt.Sprint(g.failed) }},
		{fmt.Sprintf("it is killed itself (-9): servers left %v later", abandoned), func(g gatewayFigures) string { return fmt.Sprint(g.orphans) }},
	} {
		fmt.Fprintf(w, "| %s |", line.what)
		for _, g := range r.gateways {
			fmt.Fprintf(w, " %s |", line.cell(g))
		}
		fmt.Fprintln(w)
	}
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func micros(d time.Duration) string {
	return fmt.Sprintf("%.0f us", float64(d)/float64(time.Microsecond))
}

// orNever is a time, or that patience was not enough.
func orNever(d time.Duration) string {
	if d == 0 {
		return fmt.Sprintf("not in %v", patience)
	}
	return millis(d)
}
