package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// tokenBytes is the estimate of collet tools list --tokens: bytes of ten tokens.
const tokenBytes = 46

// sums are the figures of some tools.
type sums struct{ tools, tokens, whole, bytes int }

// add counts one more tool.
func (s *sums) add(t tool, count func(string) (int, error)) error {
	n, err := count(t.text)
	if err != nil {
		return err
	}
	whole, err := count(t.whole)
	s.tools, s.tokens, s.whole, s.bytes = s.tools+1, s.tokens+n, s.whole+whole, s.bytes+len(t.text)
	return err
}

// plus counts those of another server.
func (s *sums) plus(o sums) {
	s.tools, s.tokens, s.whole, s.bytes = s.tools+o.tools, s.tokens+o.tokens, s.whole+o.whole, s.bytes+o.bytes
}

// byServer are the figures of the tools of each server.
func byServer(tools []tool, count func(string) (int, error)) (map[string]*sums, error) {
	all := map[string]*sums{}
	for _, t := range tools {
		server, _, prefixed := strings.Cut(t.name, "__")
		if !prefixed {
			continue // collet's own
		}
		if all[server] == nil {
			all[server] = &sums{}
		}
		if err := all[server].add(t, count); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// off is how far the estimate is from the count, in percent.
func (s sums) off() float64 {
	return 100 * (float64(10*s.bytes)/tokenBytes/float64(s.tokens) - 1)
}

// report prints the tables, as Markdown.
func report(w io.Writer, all []prompt, count func(string) (int, error)) error {
	servers, err := byServer(all[0].tools, count)
	if err != nil {
		return err
	}
	var total sums
	out := tabwriter.NewWriter(w, 0, 8, 1, ' ', 0)
	fmt.Fprint(out, "| server\t| tools\t| tokens\t| a tool\t| with what clients keep\t| estimate off by\t|\n|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|\n")
	row := func(name string, s sums) {
		fmt.Fprintf(out, "| %s\t| %d\t| %s\t| %d\t| %s\t| %+.0f %%\t|\n", name, s.tools, grouped(s.tokens), s.tokens/s.tools, grouped(s.whole), s.off())
	}
	for _, n := range slices.Sorted(maps.Keys(servers)) {
		row(n, *servers[n])
		total.plus(*servers[n])
	}
	row("together", total)
	fmt.Fprint(out, "\n| all tools\t| list\t| instructions\t| fixed\t| of all direct\t| a search: mean\t| most\t| with one search\t| of all direct\t|\n"+
		"|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|\n")
	direct := 0
	for _, p := range all {
		var list sums
		for _, t := range p.tools {
			if err := list.add(t, count); err != nil {
				return err
			}
		}
		told, err := count(p.instructions)
		if err != nil {
			return err
		}
		fixed := list.tokens + told
		if p.exposure == "direct" {
			direct = fixed
		}
		fmt.Fprintf(out, "| %s\t| %s\t| %d\t| %s\t| %s", p.exposure, grouped(list.tokens), told, grouped(fixed), share(fixed, direct))
		if n := len(p.searches); n > 0 {
			sum := 0
			for _, s := range p.searches {
				sum += s
			}
			fmt.Fprintf(out, "\t| %s\t| %s\t| %s\t| %s\t|\n", grouped(sum/n), grouped(slices.Max(p.searches)), grouped(fixed+sum/n), share(fixed+sum/n, direct))
		} else {
			fmt.Fprint(out, "\t| \t| \t| \t| \t|\n")
		}
	}
	return out.Flush()
}

// share is part of whole in percent.
func share(part, whole int) string { return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole)) }

// grouped is a number with its thousands apart.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
