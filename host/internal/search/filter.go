package search

import "math/bits"

// filter says of most words that a server does not have that it does not, with one
// look: a query asks every server for every word, and few have it. It is a Bloom
// filter of one hash; one byte a word lets about one in nine of the others by.
type filter []uint64

func newFilter(words int) filter {
	return make(filter, 1<<bits.Len(uint(words/8)))
}

func (f filter) add(hash uint64) { f[hash/64%uint64(len(f))] |= 1 << (hash % 64) }

// may reports whether a word of this hash can be there.
func (f filter) may(hash uint64) bool { return f[hash/64%uint64(len(f))]>>(hash%64)&1 != 0 }
