package pins

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// many are as many tools as a host has to bear, each about as large as a real one.
func many(n int) []Definition {
	all := make([]Definition, n)
	for i := range all {
		all[i] = Definition{fmt.Sprintf("tool_%d", i), fmt.Appendf(nil, `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"The file, relative to the root"},"limit":{"type":"integer","minimum":1,"maximum":100},"deep":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}},"required":["path","limit"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`, i, strings.Repeat("Reads a file and says what is in it. ", 4))}
	}
	return all
}

func seq(all []Definition) func(func(Definition) bool) {
	return func(yield func(Definition) bool) {
		for _, d := range all {
			if !yield(d) {
				return
			}
		}
	}
}

// BenchmarkReview is what a host's first list of 10,000 tools costs that were accepted
// before.
func BenchmarkReview(b *testing.B) {
	all := many(10_000)
	dir := b.TempDir()
	config := filepath.Join(dir, "mcp.toml")
	k := &Keeper{StateDir: filepath.Join(dir, "state")}
	if _, err := k.Remember(context.Background(), config, "s", Digests(seq(all))); err != nil {
		b.Fatal(err)
	}
	b.Run("digests", func(b *testing.B) {
		for b.Loop() {
			Digests(seq(all))
		}
	})
	digests := Digests(seq(all))
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			k := &Keeper{StateDir: filepath.Join(dir, "state")}
			if r, err := k.Review(config, "s", digests); err != nil || len(r.New)+len(r.Changed)+len(r.Missing) > 0 {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("remember", func(b *testing.B) {
		for b.Loop() {
			if _, err := k.Remember(context.Background(), config, "s", digests); err != nil {
				b.Fatal(err)
			}
		}
	})
}
