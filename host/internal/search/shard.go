package search

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
)

// shard is one server in the index. It never changes.
type shard struct {
	server string
	tools  []string       // names, in order
	wires  map[int]string // of tools whose wire name is not the usual one
	names  []nameKey

	lengths   [][fields]uint16 // of each tool's fields, in words
	total     [fields]int      // the sums of lengths
	filled    [fields]int      // how many tools have the field
	nameWords []uint8          // different words in each tool's name

	words    lexicon  // all words of tools
	ends     []uint32 // where each word's list ends in postings
	postings []byte   // for each word the number of its tools, then its postings

	about       lexicon // the words of the server's name and of what it says of itself
	aboutCounts []aboutCounts
	aboutLength [aboutFields]int

	filter filter // of words and about
}

// The fields of a server, which all its tools share.
const (
	serverField = iota // its name
	aboutField         // its description and instructions
	aboutFields        // their number
)

type aboutCounts [aboutFields]uint8

// list returns the postings of a word and how many tools have it.
func (s *shard) list(word int) (postings []byte, tools int) {
	start := uint32(0)
	if word > 0 {
		start = s.ends[word-1]
	}
	list := s.postings[start:s.ends[word]]
	n, size := binary.Uvarint(list)
	return list[size:], int(n)
}

// newShard indexes a server.
func newShard(from Server) *shard {
	s := &shard{server: strings.Clone(from.Name)}
	tools := make(map[string]*Tool, len(from.Tools))
	for i := range from.Tools {
		if t := &from.Tools[i]; t.Name != "" && tools[t.Name] == nil {
			tools[t.Name] = t
		}
	}
	s.tools = slices.Sorted(maps.Keys(tools))
	s.lengths = make([][fields]uint16, len(s.tools))
	s.nameWords = make([]uint8, len(s.tools))
	size := 8 * len(s.tools) // about as many words as there will be
	b := builder{shard: s, ids: make(map[string]int, size), stems: make(map[string]int, size), entries: make([]entry, 0, size)}
	for i, n := range s.tools {
		s.tools[i] = strings.Clone(n) // not a part of its definition
		b.read(i, tools[n])
		if w := tools[n].Wire; w != "" && w != usualWire(s.server, n) {
			if s.wires == nil {
				s.wires = map[int]string{}
			}
			s.wires[i] = strings.Clone(w)
		}
	}
	b.finish()
	s.names = s.nameKeys()
	s.readAbout(from)
	s.filter = newFilter(s.words.len() + s.about.len())
	for _, l := range []lexicon{s.words, s.about} {
		for i := range l.len() {
			s.filter.add(maphash.String(seed, l.at(i)))
		}
	}
	return s
}

// builder gathers the postings of one server.
type builder struct {
	*shard
	ids     map[string]int // of words as they stand in texts: most stand there often
	stems   map[string]int // of their stems
	entries []entry        // by id
	tool    int            // being read
	touched []int          // the words it has
}

// entry is one word while a server is read.
type entry struct {
	stem     string
	postings []byte
	tools    int // that have it
	last     int // of them
	counts   counts
	touched  bool // counts are those of the tool being read
}

func (b *builder) id(token string) int {
	id, ok := b.ids[token]
	if ok {
		return id
	}
	w := stem(token)
	if id, ok = b.stems[w]; !ok {
		id = len(b.entries)
		b.entries = append(b.entries, entry{stem: w, last: -1})
		b.stems[w] = id
	}
	b.ids[token] = id
	return id
}

func (b *builder) read(tool int, t *Tool) {
	b.tool = tool
	b.nameWords[tool] = uint8(min(b.add(nameField, cut(t.Name, maxName)), math.MaxUint8))
	b.add(titleField, cut(t.Title, maxTitle))
	b.add(descriptionField, cut(t.Description, maxDescription))
	schemaWords(t.InputSchema,
		func(parameter string) { b.add(parameterField, parameter) },
		func(value string) { b.add(valueField, value) })
	for _, id := range b.touched {
		e := &b.entries[id]
		e.postings = appendPosting(e.postings, uint32(tool-e.last), &e.counts)
		e.tools++
		e.last, e.touched, e.counts = tool, false, counts{}
	}
	b.touched = b.touched[:0]
	for f, n := range b.lengths[tool] {
		b.total[f] += int(n)
		b.filled[f] += min(int(n), 1)
	}
}

// add reads a field and returns how many words the tool did not have before.
func (b *builder) add(f field, text string) (added int) {
	length := &b.lengths[b.tool][f]
	tokenize(text, func(token string, k kind) {
		id := b.id(token)
		e := &b.entries[id]
		if !e.touched {
			e.touched = true
			b.touched = append(b.touched, id)
			if k.counted() {
				added++
			}
		}
		if e.counts[f] < math.MaxUint8 {
			e.counts[f]++
		}
		if k.counted() && *length < math.MaxUint16 {
			*length++
		}
	})
	return added
}

// finish puts the words in order and their postings behind one another.
func (b *builder) finish() {
	words := slices.Sorted(maps.Keys(b.stems))
	b.words = newLexicon(words)
	b.ends = make([]uint32, len(words))
	size := 0
	for i := range b.entries {
		size += len(b.entries[i].postings) + binary.MaxVarintLen32
	}
	all := make([]byte, 0, size)
	for i, w := range words {
		e := &b.entries[b.stems[w]]
		all = binary.AppendUvarint(all, uint64(e.tools))
		all = append(all, e.postings...)
		b.ends[i] = uint32(len(all))
	}
	b.postings = slices.Clone(all)
}

// readAbout indexes what a server says of itself.
func (s *shard) readAbout(from Server) {
	found := map[string]*aboutCounts{}
	add := func(f int, text string) {
		tokenize(text, func(token string, k kind) {
			w := stem(token)
			c := found[w]
			if c == nil {
				c = &aboutCounts{}
				found[w] = c
			}
			if c[f] < math.MaxUint8 {
				c[f]++
			}
			if k.counted() {
				s.aboutLength[f]++
			}
		})
	}
	add(serverField, cut(from.Name, maxName))
	add(aboutField, cut(from.Description, maxAbout))
	add(aboutField, cut(from.Instructions, maxAbout))
	words := slices.Sorted(maps.Keys(found))
	s.about = newLexicon(words)
	s.aboutCounts = make([]aboutCounts, len(words))
	for i, w := range words {
		s.aboutCounts[i] = *found[w]
	}
}
