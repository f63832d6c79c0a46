package telemetry

import (
	"context"
	"encoding/json"

	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// A client's trace goes on in the _meta of its requests, under the names of W3C Trace
// Context and Baggage without a prefix (MCP 2026-07-28, basic, _meta; SEP-414).
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
	baggageName = "baggage"
)

// metaCarrier is an MCP _meta object as OpenTelemetry reads it.
type metaCarrier string

// Get implements propagation.TextMapCarrier.
func (m metaCarrier) Get(key string) string {
	if v := gjson.Get(string(m), key); v.Type == gjson.String {
		return v.String()
	}
	return ""
}

// Set implements propagation.TextMapCarrier; it is only read.
func (metaCarrier) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (metaCarrier) Keys() []string { return []string{traceParent, traceState} }

// remoteOf is the span that meta names, an invalid one when it names none.
func remoteOf(meta json.RawMessage) trace.SpanContext {
	if len(meta) == 0 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), metaCarrier(meta)))
}

// inject returns meta with the span of ctx in the place of what it named, every other
// byte as it was. Baggage that meta has is its caller's and stays; where it has none,
// that of ctx goes on.
func inject(ctx context.Context, meta json.RawMessage) json.RawMessage {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if carrier[traceParent] == "" {
		return meta
	}
	out := []byte(meta)
	if carrier[traceState] != "" || gjson.GetBytes(meta, traceState).Exists() {
		out = rawjson.Set(out, traceState, quoted(carrier[traceState]))
	}
	if b := baggage.FromContext(ctx); b.Len() > 0 && !gjson.GetBytes(meta, baggageName).Exists() {
		out = rawjson.Set(out, baggageName, quoted(b.String()))
	}
	return rawjson.Set(out, traceParent, quoted(carrier[traceParent]))
}

func quoted(s string) []byte { return rawjson.AppendString(nil, s) }
