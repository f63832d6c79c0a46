package telemetry

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// BenchmarkCall is what one call costs that is told of: its metrics, its spans, both.
func BenchmarkCall(b *testing.B) {
	for name, opt := range map[string]func(*Options){
		"metrics": func(o *Options) { o.Prometheus = true },
		"traces":  func(o *Options) { o.Tracer = sdktrace.NewTracerProvider() },
		"both": func(o *Options) {
			o.Prometheus = true
			o.Tracer = sdktrace.NewTracerProvider()
		},
	} {
		b.Run(name, func(b *testing.B) {
			o := options()
			opt(&o)
			tel, err := New(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				made(tel, b.Context(), event("t"), `{"traceparent":"`+parent+`","x":1.0}`, false, nil)
			}
		})
	}
}
