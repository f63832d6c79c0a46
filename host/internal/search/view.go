package search

import (
	"hash/maphash"
	"math"
)

// view is the part of a snapshot that a query goes to, with its statistics.
type view struct {
	shards  []*shard
	first   []int // of each shard's tools in the numbering of the view
	tools   int
	average [fields]float64 // length of a tool's fields, of those that have them
	about   [aboutFields]float64
	spare   int // lookups of synonyms that are left to the query
	keep    func(server, tool string) bool
}

// view returns what opt.Server and opt.Keep leave.
func (s *Snapshot) view(opt Options) *view {
	v := &view{spare: maxSynonyms, keep: opt.Keep}
	server, folded := opt.Server, fold(opt.Server)
	var filled [fields]int
	var told [aboutFields]int
	for _, sh := range s.shards {
		if server != "" && sh.server != server && fold(sh.server) != folded {
			continue
		}
		v.shards = append(v.shards, sh)
		v.first = append(v.first, v.tools)
		v.tools += len(sh.tools)
		for f, n := range sh.total {
			v.average[f] += float64(n)
			filled[f] += sh.filled[f]
		}
		for f, n := range sh.aboutLength {
			v.about[f] += float64(n * len(sh.tools))
			told[f] += min(n, 1) * len(sh.tools)
		}
	}
	for f, n := range filled {
		v.average[f] /= float64(max(n, 1))
	}
	for f, n := range told {
		v.about[f] /= float64(max(n, 1))
	}
	return v
}

func (v *view) kept(server, tool string) bool { return v.keep == nil || v.keep(server, tool) }

// place is where one server has a word.
type place struct {
	shard    int
	postings []byte
	about    aboutCounts
}

// lookup returns the places of a stem and the number of tools it leads to.
func (v *view) lookup(stem string) (places []place, tools int) {
	hash := maphash.String(seed, stem)
	for i, sh := range v.shards {
		if !sh.filter.may(hash) {
			continue
		}
		p := place{shard: i}
		n := 0
		if at, ok := sh.words.find(stem); ok {
			p.postings, n = sh.list(at)
		}
		if at, ok := sh.about.find(stem); ok {
			p.about, n = sh.aboutCounts[at], len(sh.tools)
		}
		if n > 0 {
			places = append(places, p)
			tools += n
		}
	}
	return places, tools
}

// rarity is the idf of a word that n tools have: positive, less for common ones.
func (v *view) rarity(n int) float64 {
	return math.Log(1 + (float64(v.tools-n)+0.5)/(float64(n)+0.5))
}

// concept is what one word of a query means in a view: any of its alternatives.
type concept struct {
	alternatives []alternative
	value        float64 // of the best
}

// alternative is a known word that stands for one asked for.
type alternative struct {
	weight float64 // 1 for the word itself
	value  float64 // what it counts for: weight times rarity
	places []place
}

// concepts looks up the words of a query. Those that mean nothing are left out.
func (v *view) concepts(words []asked) []concept {
	var found []concept
	loose := maxLoose
	for _, a := range words {
		if c := v.concept(a); c.alternatives != nil {
			found = append(found, c)
			continue
		}
		unknown := []string{a.stem}
		switch a.kind {
		case char, pair:
			continue
		case whole:
			unknown = nil
			for _, p := range a.parts {
				if c := v.concept(asked{stem: p, weight: a.weight}); c.alternatives != nil {
					found = append(found, c)
				} else {
					unknown = append(unknown, p)
				}
			}
		}
		for _, w := range unknown[:min(len(unknown), loose)] {
			loose--
			for _, others := range v.loosen(w) {
				if c := v.concept(asked{weight: a.weight, others: others}); c.alternatives != nil {
					found = append(found, c)
				}
			}
		}
	}
	return found
}

// concept has no alternatives when the view knows nothing that stands for a.
func (v *view) concept(a asked) concept {
	var c concept
	most := math.Inf(1)
	add := func(stem string, weight float64) {
		places, n := v.lookup(stem)
		if n == 0 {
			return
		}
		// A rare word that was not asked for is worth no more than the one that was.
		value := a.weight * weight * min(v.rarity(n), most)
		c.alternatives = append(c.alternatives, alternative{weight, value, places})
		c.value = max(c.value, value)
	}
	if a.stem != "" {
		add(a.stem, 1)
		if c.alternatives != nil {
			most = c.value / a.weight
		} else if a.kind == whole {
			return c
		}
	}
	for _, p := range a.parts {
		add(p, partWeight)
	}
	for _, o := range a.others {
		add(o.stem, o.weight)
	}
	if a.kind == word || a.kind == whole {
		others := synonyms()[a.stem]
		for _, s := range others[:min(len(others), v.spare)] {
			v.spare--
			add(s, synonymWeight)
		}
	}
	return c
}
