package search

import (
	"slices"
	"strings"
)

// Options narrow a search. The zero value searches everything for DefaultLimit.
type Options struct {
	Server string // only this server's tools; case and "-" against "_" do not count
	// Limit is the most hits there are. 0 or less: DefaultLimit, or as many as the
	// query is a list of.
	Limit int
	// Keep says whether a tool may be found; nil: all may. It is asked during Search,
	// for every tool that matches. Words of a tool that is not kept still count for
	// how rare words are: what nobody may find does not belong into the index.
	Keep func(server, tool string) bool
}

// Hit is one tool that was found.
type Hit struct {
	Server, Tool string
	Score        float64 // above 0; compares only within one answer
}

// Search returns the tools that a query asks for, best first, and how many match
// in all.
//
// A query that is a tool's bare, canonical or wire name, in any spelling, has that
// tool first. A list of names, with commas or of names that are no plain words,
// has exactly those tools, in its order. A name within a longer query, written as
// one or in quotes, puts its tool first. Anything else is ranked. A query without
// words has the tools of Options.Server, by name, if one is given, else none.
func (s *Snapshot) Search(query string, opt Options) (hits []Hit, total int) {
	v := s.view(opt)
	query = strings.TrimSpace(cut(query, maxQuery))
	if query == "" {
		if opt.Server == "" {
			return nil, 0
		}
		return v.best(slices.Repeat([]float64{1}, v.tools), opt.Limit)
	}
	names := v.names(query)
	var scores []float64
	if names.alone {
		scores = make([]float64, v.tools)
		if opt.Limit <= 0 {
			opt.Limit = max(DefaultLimit, len(names.tools))
		}
	} else {
		scores = v.rank(v.concepts(parse(query)))
	}
	names.promote(scores)
	return v.best(scores, opt.Limit)
}

// best returns the hits of highest score, equal ones by server and name, and how many tools
// have a score and are kept.
func (v *view) best(scores []float64, limit int) (hits []Hit, total int) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	for i, sh := range v.shards {
		for j, tool := range sh.tools {
			score := scores[v.first[i]+j]
			if score <= 0 || !v.kept(sh.server, tool) {
				continue
			}
			total++
			// Tools come in the order of their names, so an equal one goes behind.
			at, _ := slices.BinarySearchFunc(hits, score, func(h Hit, score float64) int {
				if h.Score >= score {
					return -1
				}
				return 1
			})
			if at == limit {
				continue
			}
			if len(hits) == limit {
				hits = hits[:limit-1]
			}
			hits = slices.Insert(hits, at, Hit{sh.server, tool, score})
		}
	}
	return hits, total
}
