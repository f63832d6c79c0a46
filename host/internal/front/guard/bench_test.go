package guard_test

import (
	"net/http"
	"testing"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

// What the guard adds to a request.
func BenchmarkGuard(b *testing.B) {
	for name, authorization := range map[string]string{"let through": "Bearer " + canary, "refused": "Bearer x"} {
		b.Run(name, func(b *testing.B) {
			g, err := guard.New(guard.Options{
				Auth: []guard.Authenticator{tokens{canary: owner("a")}}, Hosts: []string{"example.com"},
				Limits: guard.Limits{PerSecond: -1, FailuresPerSecond: -1},
			})
			if err != nil {
				b.Fatal(err)
			}
			handler := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r, err := http.NewRequest("POST", "http://example.com/mcp", nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("Authorization", authorization)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(writer{}, r)
			}
		})
	}
}
