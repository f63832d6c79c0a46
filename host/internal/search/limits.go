package search

import "unicode/utf8"

// How much of what strangers write is read. What lies beyond is not searchable;
// it is never an error. Sizes are bytes, cut at a character's beginning.
const (
	// DefaultLimit is the number of hits when Options say none.
	DefaultLimit = 5

	maxQuery       = 4 << 10   // longer than any question; a pasted file is cut
	maxQueryWords  = 48        // different ones that are looked up; a sentence has 10 to 20
	maxSynonyms    = 160       // words that are looked up besides; a sentence has 30 to 80
	maxLoose       = 4         // unknown words for which the vocabulary is gone through
	maxName        = 1 << 10   // a tool's own name
	maxTitle       = 1 << 10   //
	maxDescription = 16 << 10  // the longest in the field are about 10 KiB
	maxAbout       = 16 << 10  // a server's description with its instructions
	maxSchema      = 512 << 10 // a larger one is not read at all, since half a document says anything
	maxSchemaWork  = 4 << 20   // bytes gone through in one schema, every level and $ref counted again
	maxSchemaDepth = 8         // how deep they are nested, counted from the root
	maxRefs        = 64        // different local $refs followed in one schema
	maxParameters  = 512       // names read from one schema
	maxParamText   = 8 << 10   // descriptions and enum values of one schema together
	maxParameter   = 256       // one of these names
	maxWord        = 64        // a longer word is data, not language
)

// cut returns the beginning of s, at most n bytes, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
