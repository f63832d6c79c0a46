package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The formula once more, as it is written in books, over lists of words: no
// postings, no lexicons, no sharing between the tools of a server. Words are
// invented, so that each stands for itself alone.
func TestScores(t *testing.T) {
	words := strings.Fields("bam cot dul fen gip hax jol kub lem mur nad pov")
	r := rand.New(rand.NewPCG(3, 4))
	text := func(most int) string {
		var w []string
		for range r.IntN(most + 1) {
			w = append(w, words[r.IntN(len(words)-2)])
		}
		return strings.Join(w, " ")
	}
	for round := range 50 {
		var index Index
		type doc struct {
			server, tool string
			fields       [7][]string
		}
		weights := [7]fieldWeight{{4, 0.3}, {2, 0.3}, {1, 0.6}, {0.4, 0.75}, {0.3, 0.75}, {1.5, 0.3}, {0.3, 0.75}}
		var docs []doc
		for i := range 1 + r.IntN(4) {
			s := Server{Name: words[i], Description: text(6), Instructions: text(20)}
			for j := range 1 + r.IntN(10) {
				first := r.IntN(len(words) - 2)
				parameters := words[first : first+1+r.IntN(len(words)-2-first)]
				x := Tool{Name: fmt.Sprintf("%s_%s_%c", words[r.IntN(len(words)-2)], words[r.IntN(len(words)-2)], 'a'+j), Title: text(3), Description: text(30)}
				about := text(300) // past what a posting writes as a bare mark
				x.InputSchema = fmt.Appendf(nil, `{"properties":{"%s":{}},"items":{"description":%q}}`, strings.Join(parameters, `":{},"`), about)
				s.Tools = append(s.Tools, x)
				d := doc{server: s.Name, tool: x.Name}
				for f, field := range []string{strings.ReplaceAll(x.Name, "_", " "), x.Title, x.Description, strings.Join(parameters, " "), about, s.Name, s.Description + " " + s.Instructions} {
					d.fields[f] = strings.Fields(field)
				}
				docs = append(docs, d)
			}
			index.Put(s)
		}
		var average [7]float64
		for f := range average {
			n := 0
			for _, d := range docs {
				average[f] += float64(len(d.fields[f]))
				n += min(1, len(d.fields[f]))
			}
			average[f] /= float64(max(n, 1))
		}
		count := func(words []string, w string) (n float64) {
			for _, have := range words {
				if have == w {
					n++
				}
			}
			return min(n, 255)
		}
		query := []string{words[r.IntN(len(words))], words[r.IntN(len(words))], words[r.IntN(len(words))]}
		slices.Sort(query)
		query = slices.Compact(query)
		value := map[string]float64{}
		all := 0.0
		for _, w := range query {
			n := 0.0
			for _, d := range docs {
				if slices.ContainsFunc(d.fields[:], func(f []string) bool { return slices.Contains(f, w) }) {
					n++
				}
			}
			if n > 0 {
				value[w] = math.Log(1 + (float64(len(docs))-n+0.5)/(n+0.5))
				all += value[w]
			}
		}
		want := map[string]float64{}
		for _, d := range docs {
			score, covered, named := 0.0, 0.0, 0.0
			for _, w := range query {
				frequency := 0.0
				for f, fw := range weights {
					if n := count(d.fields[f], w); n > 0 {
						frequency += fw.weight * n / (1 - fw.length + fw.length*float64(len(d.fields[f]))/average[f])
					}
				}
				if frequency > 0 {
					score += value[w] * frequency / (1.2 + frequency)
					covered += value[w]
				}
				named += min(1, count(d.fields[0], w))
			}
			if score > 0 {
				distinct := slices.Compact(slices.Sorted(slices.Values(d.fields[0])))
				want[d.server+"/"+d.tool] = score * (1 + covered/all) * (1 + 0.3*named/float64(len(distinct)))
			}
		}
		if len(query) == 1 { // a server's or a tool's name by itself is another matter
			continue
		}
		hits, total := index.Search(strings.Join(query, " and "), Options{Limit: 1000})
		if total != len(want) || len(hits) != total {
			t.Fatalf("round %d: %d hits of %d, want %d", round, len(hits), total, len(want))
		}
		for _, h := range hits {
			if w := want[h.Server+"/"+h.Tool]; math.Abs(h.Score-w) > 2e-4 {
				t.Errorf("round %d: %s/%s has %.5f, want %.5f", round, h.Server, h.Tool, h.Score, w)
			}
		}
	}
}
