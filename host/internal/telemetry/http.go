package telemetry

import (
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
)

// methods are those of HTTP that are counted by name, as the conventions want it.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}

// Count counts the requests to a handler and the time they take. Routes are the paths
// that are told apart.
func (t *Telemetry) Count(next http.Handler, routes ...string) http.Handler {
	if t == nil || t.instruments == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := "_OTHER"
		if slices.Contains(methods, r.Method) {
			method = r.Method
		}
		of := []attribute.KeyValue{attribute.String("http.request.method", method), attribute.String("url.scheme", "http")}
		active := metric.WithAttributes(of...)
		begun, answer := time.Now(), &statusWriter{ResponseWriter: w, status: http.StatusOK}
		ctx := r.Context()
		t.instruments.active.Add(ctx, 1, active)
		defer func() {
			t.instruments.active.Add(ctx, -1, active)
			of := append(of[:len(of):len(of)], attribute.Int("http.response.status_code", answer.status))
			if slices.Contains(routes, r.URL.Path) {
				of = append(of, attribute.String("http.route", r.URL.Path))
			}
			t.instruments.requests.Record(ctx, time.Since(begun).Seconds(), metric.WithAttributes(of...))
		}()
		next.ServeHTTP(answer, r)
	})
}

// Continue lets the calls of a request belong to the trace that its headers name,
// unless they name one themselves.
func (t *Telemetry) Continue(next http.Handler) http.Handler {
	if t == nil || t.tracer == nil {
		return next
	}
	w3c := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header))))
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	said   bool
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if !w.said && status >= http.StatusOK { // others are only preliminary
		w.status, w.said = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *statusWriter) Write(b []byte) (int, error) {
	w.said = true
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *statusWriter) Flush() {
	w.said = true
	_ = http.NewResponseController(w.ResponseWriter).Flush() // who writes next is told
}

// Unwrap lets http.ResponseController see the writer below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
