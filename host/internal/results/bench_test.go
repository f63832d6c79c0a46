package results

import (
	"strings"
	"testing"
)

// The largest result there can be, kept and read in parts.
func BenchmarkLargest(b *testing.B) {
	raw := textResult(strings.Repeat("a line of text, as long as such lines are\n", 60<<20/42))
	s := store(b)
	s.MaxBytes = 4 << 30
	handle := put(b, s, Local, raw)
	b.Run("put", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			put(b, s, Local, raw)
		}
	})
	b.Run("head", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			Head(raw, 2048)
		}
	})
	for name, slice := range map[string]Slice{
		"offset": {Offset: 50 << 20}, "lines": {Lines: Lines{1_400_000, 0}}, "path": {Path: "content.0.type"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Read(Local, handle, slice, 256<<10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
