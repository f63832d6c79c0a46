package schema

import (
	"encoding/json"
	"sync"
	"testing"
)

func TestCacheCompilesOnce(t *testing.T) {
	var c Cache
	text := `{"type":"object","required":["a"]}`
	first := c.Compile(json.RawMessage(text))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if again := c.Compile(json.RawMessage([]byte(text))); again != first {
				t.Error("compiled again")
			}
		})
	}
	wg.Wait()
	if other := c.Compile(json.RawMessage(`{"type":"array"}`)); other == first || len(other.Validate(json.RawMessage(`{}`))) == 0 {
		t.Error("another schema is the same")
	}
	if len(first.Validate(json.RawMessage(`{}`))) == 0 || len(first.Validate(json.RawMessage(`{"a":1}`))) != 0 {
		t.Error("it checks something else")
	}
}
