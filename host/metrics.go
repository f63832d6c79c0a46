package host

import (
	"net/http"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

// metricsPath is where Prometheus reads.
const metricsPath = "/metrics"

// forEverything refuses a principal that may not know of everything: metrics name
// all servers and their tools.
func (f *HTTPFace) forEverything(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := guard.FromContext(r.Context()); p == nil || !p.Everything() {
			d := guard.Denial{Method: r.Method, Reason: guard.BadScope, Status: http.StatusForbidden, Path: metricsPath, From: r.RemoteAddr}
			if p != nil {
				d.Principal = p.ID
			}
			f.host.denied(d)
			http.Error(w, "Metrics tell of all servers and tools: they are for tokens that may use everything.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
