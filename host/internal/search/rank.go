package search

import (
	"math"
	"sync"
)

// The weights of BM25F: how much a word counts in a field, and how much that
// shrinks when the field is longer than it is on average (0: not at all, 1: in
// proportion). They are first guesses, on purpose: settings fitted to one half of
// a set of questions gained nothing on the other.
var (
	fieldWeights = [fields]fieldWeight{
		nameField:        {4, 0.3},
		titleField:       {2, 0.3},
		descriptionField: {1, 0.6},
		parameterField:   {0.4, 0.75},
		valueField:       {0.3, 0.75},
	}
	aboutWeights = [aboutFields]fieldWeight{
		serverField: {1.5, 0.3},
		aboutField:  {0.3, 0.75},
	}
)

type fieldWeight struct{ weight, length float64 }

// frequency is what n times a word in a field of some length adds.
func (w fieldWeight) frequency(n uint8, length int, average float64) float64 {
	if n == 0 || average == 0 {
		return 0
	}
	return w.weight * float64(n) / (1 - w.length + w.length*float64(length)/average)
}

const (
	saturation = 1.2 // BM25's k1: how soon more of a word says no more
	nameBonus  = 0.3 // for a query that has every word of a tool's name
)

// tally is what one query has found out about one tool.
type tally struct {
	score   float64 // sum of the concepts'
	covered float64 // value of the concepts it has
	names   float64 // concepts in its name
	current found   // of the concept being counted
}

// found is what a tool has of one concept: the scores of all its alternatives, the
// value of the best, and the weight of the best in the tool's name.
type found struct{ score, value, name float64 }

// tallies are kept between queries: ten thousand of them are half a megabyte.
var tallies = sync.Pool{New: func() any { return new([]tally) }}

// rank returns a score for every tool of the view, 0 for those without any of the
// words.
func (v *view) rank(concepts []concept) []float64 {
	pooled := tallies.Get().(*[]tally)
	defer tallies.Put(pooled)
	if cap(*pooled) < v.tools {
		*pooled = make([]tally, v.tools)
	}
	t := (*pooled)[:v.tools]
	clear(t)

	all := 0.0
	for _, c := range concepts {
		all += c.value
		for _, a := range c.alternatives {
			for _, p := range a.places {
				v.count(t, a, p)
			}
		}
		for i := range t {
			if f := &t[i].current; f.value > 0 {
				t[i].score += f.score
				t[i].covered += f.value
				t[i].names += f.name
				*f = found{}
			}
		}
	}
	scores := make([]float64, v.tools)
	for i, sh := range v.shards {
		for j := range sh.tools {
			one := &t[v.first[i]+j]
			if one.score == 0 {
				continue
			}
			name := min(1, one.names/float64(max(sh.nameWords[j], 1)))
			scores[v.first[i]+j] = round(one.score * (1 + one.covered/all) * (1 + nameBonus*name))
		}
	}
	return scores
}

// count adds what an alternative's postings in one server are worth.
func (v *view) count(t []tally, a alternative, p place) {
	sh := v.shards[p.shard]
	t = t[v.first[p.shard]:][:len(sh.tools)]
	shared := 0.0
	for f, w := range aboutWeights {
		shared += w.frequency(p.about[f], sh.aboutLength[f], v.about[f])
	}
	next := 0
	for list := (postings{list: p.postings, tool: -1}); list.next(); {
		for ; shared > 0 && next < list.tool; next++ {
			t[next].current.take(a, shared, false)
		}
		next = list.tool + 1
		frequency := shared
		for f, w := range fieldWeights {
			frequency += w.frequency(list.counts[f], int(sh.lengths[list.tool][f]), v.average[f])
		}
		t[list.tool].current.take(a, frequency, list.counts[nameField] > 0)
	}
	for ; shared > 0 && next < len(sh.tools); next++ {
		t[next].current.take(a, shared, false)
	}
}

// take adds an alternative that a tool has.
func (f *found) take(a alternative, frequency float64, inName bool) {
	f.score += a.value * frequency / (saturation + frequency)
	f.value = max(f.value, a.value)
	if inName {
		f.name = max(f.name, a.weight)
	}
}

// round makes scores equal that differ by the last bits of a sum, so that their
// order is that of names, on every processor. No score becomes 0.
func round(score float64) float64 { return math.Ceil(score*1e4) / 1e4 }
