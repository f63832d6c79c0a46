package mcp

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Prepared is a result that is sent many times, as a long list is: it is read, and
// completed for the modern era, once. It belongs to one Server.
type Prepared struct {
	result         json.RawMessage
	legacy, modern func() ([]byte, error)
	own            sync.Once
}

// Prepare returns a result for Incoming.Prepared. The bytes are not changed from
// then on. What is no JSON object is answered as an internal error.
func Prepare(result json.RawMessage) *Prepared { return &Prepared{result: result} }

// appendTo appends the result as the era has it.
func (p *Prepared) appendTo(b []byte, s *Server, modern bool) ([]byte, error) {
	p.own.Do(func() {
		completed := func(modern bool) func() ([]byte, error) {
			return sync.OnceValues(func() ([]byte, error) {
				b, err := s.appendResult(make([]byte, 0, len(p.result)+len(s.info)+96), p.result, modern)
				if bytes.Equal(b, p.result) {
					b = p.result // one copy is enough
				}
				return b, err
			})
		}
		p.legacy, p.modern = completed(false), completed(true)
	})
	of := p.legacy
	if modern {
		of = p.modern
	}
	result, err := of()
	return append(b, result...), err
}

// size is how many bytes the result may have, once it is completed.
func (p *Prepared) size() int { return len(p.result) }
