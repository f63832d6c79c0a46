// Package load holds the arguments and results that all figures are measured
// with, so that floors and collet carry the same bytes. It measures nothing.
package load

import (
	"fmt"
	"strings"
	"sync"
)

// Echo is the arguments of a call of the tool echo: 100 bytes of text.
var Echo = []byte(`{"text":"` + strings.Repeat("0123456789", 10) + `"}`)

// Blob is the arguments of a call of the tool blob for a result of that size.
func Blob(size int) []byte { return fmt.Appendf(nil, `{"bytes":%d}`, size) }

var results sync.Map // int -> []byte

// Result returns a tools/call result of exactly size bytes, at least 100: lines
// of text with the escapes that source code has when it is a JSON string.
func Result(size int) []byte {
	if b, ok := results.Load(size); ok {
		return b.([]byte)
	}
	const head, tail = `{"content":[{"type":"text","text":"`, `"}]}`
	const code = `\tif name := r.Get(\"name\"); name != nil { return name.String() }\n`
	b := make([]byte, 0, size)
	b = append(b, head...)
	for len(b)+len(code) <= size-len(tail) {
		b = append(b, code...)
	}
	b = append(b, strings.Repeat("x", size-len(tail)-len(b))...)
	b = append(b, tail...)
	results.Store(size, b)
	return b
}

// Tools returns a tools/list result of n tools, of the size that tools have in the
// field.
func Tools(n int) []byte {
	b := []byte(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"name":"tool_%05d","title":"Tool %d","description":"Does what tool number %d of a server does; its result is text.\nUse it when the others do not fit.",`+
			`"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"The \"path\" to look at."},"limit":{"type":"integer","minimum":1,"default":10}},"required":["path"],"additionalProperties":false},`+
			`"annotations":{"readOnlyHint":true}}`, i, i, i)
	}
	return append(b, `]}`...)
}
