package search

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/collet-dev/collet/host/internal/name"
)

// fold returns what names are compared by: letters and digits alone, in lower
// case. "create_issue", "createIssue" and "Create issue" are one name, and so are
// "github/create_issue", "github__create_issue" and "github.create_issue". A name
// without any letter is compared as it is.
func fold(s string) string {
	s = norm.NFKC.String(cut(s, maxName))
	folded := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
	if folded == "" {
		return s
	}
	return folded
}

// seed is that of all hashes here. It differs between processes, so nobody can
// choose words that meet; no order depends on it.
var seed = maphash.MakeSeed()

// nameKey leads from a folded name to a tool. The name itself is not kept: the
// tool has it.
type nameKey struct {
	hash uint64
	tool uint32
}

// spellings are the names of a tool: bare, canonical, wire.
func (s *shard) spellings(tool int) [3]string {
	t := s.tools[tool]
	wire, ok := s.wires[tool]
	if !ok {
		wire = usualWire(s.server, t)
	}
	return [3]string{t, name.Join(s.server, t), wire}
}

// usualWire is the wire name of most tools, which is therefore not kept.
func usualWire(server, tool string) string { return server + "__" + tool }

// nameKeys are the keys of all spellings of a server's tools, by hash.
func (s *shard) nameKeys() []nameKey {
	keys := make([]nameKey, 0, 2*len(s.tools))
	for i := range s.tools {
		for _, n := range s.spellings(i) {
			keys = append(keys, nameKey{maphash.String(seed, fold(n)), uint32(i)})
		}
		if n := len(keys); keys[n-1] == keys[n-2] { // canonical and wire are mostly one
			keys = keys[:n-1]
		}
	}
	slices.SortFunc(keys, func(a, b nameKey) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.tool, b.tool))
	})
	return slices.Clip(slices.Compact(keys))
}

// named returns the tools that s names, in any spelling, in the order of the
// view. When s is some tool's name to the letter, others are not meant. Tools that
// are not kept have no names.
func (v *view) named(s string) []int {
	folded := fold(s)
	if folded == "" {
		return nil
	}
	hash := maphash.String(seed, folded)
	var exact, near []int
	for i, sh := range v.shards {
		at, _ := slices.BinarySearchFunc(sh.names, hash, func(k nameKey, h uint64) int { return cmp.Compare(k.hash, h) })
		for ; at < len(sh.names) && sh.names[at].hash == hash; at++ {
			tool := int(sh.names[at].tool)
			if !v.kept(sh.server, sh.tools[tool]) {
				continue
			}
			spellings := sh.spellings(tool)
			switch {
			case slices.Contains(spellings[:], s):
				exact = append(exact, v.first[i]+tool)
			case slices.ContainsFunc(spellings[:], func(n string) bool { return fold(n) == folded }):
				near = append(near, v.first[i]+tool)
			}
		}
	}
	if exact != nil {
		return exact
	}
	return near
}

// mention is a stretch of a query that may be a name.
type mention struct {
	text string
	// distinct: it looks like no word of a sentence, it is written as names are or
	// stands in quotes.
	distinct bool
}

// quotes around a name; all of them also end it.
const quotes = "`'\"“”‘’「」『』《》"

// mentions takes a query apart at spaces, commas, quotes and brackets.
func mentions(query string) []mention {
	var found []mention
	start, quoted := 0, false
	end := func(at int, by rune) {
		text := strings.TrimRight(query[start:at], ".:!?。：！？")
		if text != "" && len(found) < maxQueryWords {
			byQuotes := quoted && strings.ContainsRune(quotes, by)
			found = append(found, mention{text, byQuotes || looksLikeName(text)})
		}
	}
	for i, r := range query {
		quote := strings.ContainsRune(quotes, r)
		if quote || unicode.IsSpace(r) || strings.ContainsRune(",;()[]{}<>|，、；（）", r) {
			end(i, r)
			start, quoted = i+len(string(r)), quote
		}
	}
	end(len(query), 0)
	return found
}

// looksLikeName reports whether s is written as names of tools are and words of
// sentences are not: several words in one, by signs, capitals or digits.
func looksLikeName(s string) bool {
	if strings.ContainsAny(s, "_/.-") {
		return true
	}
	end := hump(s)
	return end > 0 && end < len(s)
}

// names are the tools that a query names.
type names struct {
	tools   []int
	ordered bool // as they are asked for; else as they score
	alone   bool // nothing else is asked for
}

// names looks for names in a query: as a whole, as a list, within it.
func (v *view) names(query string) names {
	query, selected := strings.CutPrefix(query, "select:") // as some clients ask for tools by name
	commas := selected || strings.ContainsAny(query, ",;，、；")
	if !commas {
		if whole := v.named(query); whole != nil {
			return names{tools: whole}
		}
	}
	if listed, distinct := v.list(query); listed != nil {
		return names{tools: listed, ordered: true, alone: commas || distinct}
	}
	return names{tools: v.mentioned(query)}
}

// list returns the tools that a query names when it is nothing but names, in its
// order, each once, and whether some name is no plain word.
func (v *view) list(query string) (tools []int, distinct bool) {
	seen := map[int]bool{}
	for _, m := range mentions(query) {
		named := v.named(m.text)
		if named == nil {
			return nil, false
		}
		distinct = distinct || m.distinct
		for _, t := range named {
			if !seen[t] {
				seen[t] = true
				tools = append(tools, t)
			}
		}
	}
	return tools, distinct
}

// mentioned returns the tools named within a query that says more.
func (v *view) mentioned(query string) []int {
	var tools []int
	for _, m := range mentions(query) {
		if m.distinct {
			tools = append(tools, v.named(m.text)...)
		}
		// Chinese and Japanese put no spaces around a name of Latin letters.
		for _, p := range strings.FieldsFunc(m.text, isUnspaced) {
			if p != m.text && looksLikeName(p) {
				tools = append(tools, v.named(p)...)
			}
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// promote puts the named tools before all others.
func (n names) promote(scores []float64) {
	if len(n.tools) == 0 {
		return
	}
	top := slices.Max(scores) + 1
	for i, tool := range n.tools {
		if n.ordered {
			scores[tool] = top + float64(len(n.tools)-i)
		} else {
			scores[tool] += top
		}
		scores[tool] = math.Round(scores[tool]*1e4) / 1e4 // a sum of rounded ones has more digits
	}
}
