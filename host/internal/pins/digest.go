package pins

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// maxDepth is how deep the order of members is looked past, in containers. What is
// nested deeper counts as it is written: a definition that deep is not validated
// against either, and looking through it level by level would cost its square.
const maxDepth = 64

// Digest is the SHA-256, in hex, of everything in a tool's definition that means
// something: the whole object, annotations and members that MCP does not know
// included, since all of it is passed on. Not counted are white space, how characters
// are escaped, the order of an object's members, and the order of names in a
// schema's "required": servers whose language keeps these in hash tables write them
// in another order at every start. Numbers count as they are written, and the order
// of every other array counts.
func Digest(definition []byte) string {
	d, _ := digest(definition, nil)
	return d
}

// digest is Digest with a buffer to write into, which it returns.
func digest(definition, buf []byte) (string, []byte) {
	buf = canonical(buf[:0], gjson.ParseBytes(definition), 0, "")
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:]), buf
}

// canonical appends a value; under is the member it is the value of.
func canonical(to []byte, v gjson.Result, depth int, under string) []byte {
	switch {
	case v.Type == gjson.String:
		return rawjson.AppendString(to, v.Str)
	case v.Type != gjson.JSON || depth >= maxDepth:
		return append(to, strings.TrimSpace(v.Raw)...)
	case v.IsArray():
		return canonicalArray(to, v, depth, under == "required")
	}
	type member struct {
		key   string
		value gjson.Result
	}
	members := make([]member, 0, 8)
	v.ForEach(func(key, value gjson.Result) bool {
		members = append(members, member{key.Str, value})
		return true
	})
	// Of two members with one key the later one counts for most readers: their order
	// stays.
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	to = append(to, '{')
	for i, m := range members {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(rawjson.AppendString(to, m.key), ':')
		to = canonical(to, m.value, depth+1, m.key)
	}
	return append(to, '}')
}

func canonicalArray(to []byte, v gjson.Result, depth int, set bool) []byte {
	elements := v.Array()
	if set && !slices.ContainsFunc(elements, func(e gjson.Result) bool { return e.Type != gjson.String }) {
		slices.SortFunc(elements, func(a, b gjson.Result) int { return cmp.Compare(a.Str, b.Str) })
	}
	to = append(to, '[')
	for i, e := range elements {
		if i > 0 {
			to = append(to, ',')
		}
		to = canonical(to, e, depth+1, "")
	}
	return append(to, ']')
}
