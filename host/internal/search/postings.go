package search

import "encoding/binary"

// The fields of a tool that a word can stand in. What a server says of itself is
// kept once per server, not with each of its tools.
type field uint8

const (
	nameField field = iota
	titleField
	descriptionField
	parameterField // names of parameters
	valueField     // descriptions and enum values of parameters
	fields         // their number
)

// counts say how often a word stands in each field of one tool.
type counts [fields]uint8

// repeated marks a posting of which some count is not 1.
const repeated = 1 << 7

// appendPosting appends one tool's counts of a word: the distance from the tool
// before it (from -1 for the first), a byte that says which fields have the word,
// and the counts, unless all are 1. Most postings are two bytes.
func appendPosting(to []byte, gap uint32, c *counts) []byte {
	to = binary.AppendUvarint(to, uint64(gap))
	at := len(to)
	to = append(to, 0)
	var have byte
	for f, n := range c {
		if n > 0 {
			have |= 1 << f
			to = append(to, n)
			if n > 1 {
				have |= repeated
			}
		}
	}
	if have&repeated == 0 {
		to = to[:at+1]
	}
	to[at] = have
	return to
}

// postings reads what appendPosting wrote.
type postings struct {
	list   []byte
	tool   int // of the posting read last; begin with -1
	counts counts
}

// next reads a posting and reports whether there was one.
func (p *postings) next() bool {
	if len(p.list) == 0 {
		return false
	}
	gap, n := binary.Uvarint(p.list)
	p.tool += int(gap)
	have := p.list[n]
	p.list = p.list[n+1:]
	for f := range p.counts {
		p.counts[f] = have >> f & 1
		if have&repeated != 0 && p.counts[f] != 0 {
			p.counts[f] = p.list[0]
			p.list = p.list[1:]
		}
	}
	return true
}
