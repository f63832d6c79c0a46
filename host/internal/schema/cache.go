package schema

import (
	"encoding/json"
	"sync"
)

// Cache compiles a schema once, however often its text comes: for schemas of the
// few plugins that many servers have in common. It forgets nothing, so it is not
// for the schemas of tools, which change. The zero value is ready to use, from any
// goroutine.
type Cache struct {
	mu     sync.Mutex
	byText map[string]*Schema
}

// Compile is the function Compile, with a memory. Others wait while one compiles:
// they most likely want the same.
func (c *Cache) Compile(raw json.RawMessage) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byText[string(raw)]
	if s == nil {
		s = Compile(raw)
		if c.byText == nil {
			c.byText = map[string]*Schema{}
		}
		c.byText[string(raw)] = s
	}
	return s
}
