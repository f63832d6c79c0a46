package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// repeater answers with what was prepared.
type repeater struct{ p *Prepared }

func (repeater) Describe(context.Context, *Caller) Description { return Description{} }

func (h repeater) Handle(_ context.Context, r *Incoming) (json.RawMessage, error) {
	r.Prepared = h.p
	return nil, nil
}

// A prepared result is answered, in both eras and again and again, with the bytes
// that it is answered with when it is returned.
func TestPrepared(t *testing.T) {
	for _, result := range []string{`{"tools":[],"_meta":{}}`, "{\"tools\":[\n1\r\n]}", `{}`, `[]`, `{"a":`, `{"resultType":"x"}`, "{\"a\":\"\xff\"}"} {
		again := NewServer(repeater{Prepare(json.RawMessage(result))}, ServerOptions{Name: "x"})
		once := NewServer(counter{json.RawMessage(result)}, ServerOptions{Name: "x"})
		for _, call := range []string{modernCall("1", "a", "{}"), legacyHello("2025-11-25", "{}"), legacyCall("2", "a", "{}", ""), modernCall("3", "a", "{}")} {
			var got, want string
			for s, to := range map[*Server]*string{again: &got, once: &want} {
				var out strings.Builder
				in := strings.NewReader(legacyHello("2025-11-25", "{}") + "\n" + call + "\n")
				if err := s.ServeStdio(t.Context(), in, &out); err != nil {
					t.Fatal(err)
				}
				*to = out.String()
			}
			if got != want || !strings.Contains(got, "\n") {
				t.Errorf("%q is answered with\n%swant\n%s", result, got, want)
			}
		}
		_ = again.Close(t.Context())
		_ = once.Close(t.Context())
	}
}
