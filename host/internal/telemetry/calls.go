package telemetry

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/exposure"
)

// The attributes. mcp.*, gen_ai.*, rpc.* and error.type are the conventions'.
const (
	methodKey    = attribute.Key("mcp.method.name")
	sessionKey   = attribute.Key("mcp.session.id")
	operationKey = attribute.Key("gen_ai.operation.name")
	toolKey      = attribute.Key("gen_ai.tool.name")
	codeKey      = attribute.Key("rpc.response.status_code")
	errorKey     = attribute.Key("error.type")
	serverKey    = attribute.Key("collet.server")
	callerKey    = attribute.Key("collet.caller")
	principalKey = attribute.Key("collet.principal")
	idKey        = attribute.Key("collet.call.id")
	parentKey    = attribute.Key("collet.call.parent_id")
	attemptKey   = attribute.Key("collet.attempt")
	deliveryKey  = attribute.Key("collet.delivery")
)

// toolFailed is the error.type of a result with isError, by the conventions.
const toolFailed = "tool_error"

// maxText bounds a name that somebody may have made up, in bytes.
const maxText = 256

var _ call.Observer = (*Telemetry)(nil)

// running is a call from Begin to End.
type running struct {
	inFlight metric.MeasurementOption // as it was counted at the beginning
}

type runningKey struct{}

// Begin implements call.Observer. The trace that meta names goes on, or the one of
// ctx: a program's, or that of the HTTP request.
func (t *Telemetry) Begin(ctx context.Context, e *call.Event, meta json.RawMessage) context.Context {
	if t.instruments != nil {
		r := &running{metric.WithAttributeSet(t.inFlight(e))}
		t.instruments.inFlight.Add(ctx, 1, r.inFlight)
		ctx = context.WithValue(ctx, runningKey{}, r)
	}
	if t.tracer == nil {
		return ctx
	}
	attributes := []attribute.KeyValue{
		methodKey.String(excerpt(e.Method)), serverKey.String(excerpt(e.Server)), callerKey.String(string(e.Caller)),
		principalKey.String(excerpt(e.Owner)), idKey.String(e.ID),
	}
	if e.Method == call.ToolsCall {
		attributes = append(attributes, operationKey.String("execute_tool"), toolKey.String(excerpt(e.Tool)))
	}
	if e.Session != "" {
		attributes = append(attributes, sessionKey.String(excerpt(e.Session)))
	}
	if e.Parent != "" {
		attributes = append(attributes, parentKey.String(excerpt(e.Parent)))
	}
	opts := []trace.SpanStartOption{trace.WithAttributes(attributes...)}
	if e.Caller == exposure.Model {
		opts = append(opts, trace.WithSpanKind(trace.SpanKindServer)) // it came by MCP
	}
	if remote := remoteOf(meta); remote.IsValid() {
		if around := trace.SpanContextFromContext(ctx); around.IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: around}))
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, remote)
	}
	ctx, span := t.tracer.Start(ctx, spanName(e), opts...)
	e.Trace = span.SpanContext().TraceID().String()
	return ctx
}

// Attempt implements call.Observer. The server continues the attempt's span.
func (t *Telemetry) Attempt(ctx context.Context, e *call.Event, n int, meta json.RawMessage) (context.Context, json.RawMessage) {
	if t.tracer == nil {
		return ctx, meta
	}
	attributes := []attribute.KeyValue{methodKey.String(excerpt(e.Method)), serverKey.String(e.Server), attemptKey.Int(n)}
	if e.Method == call.ToolsCall {
		attributes = append(attributes, operationKey.String("execute_tool"), toolKey.String(e.Tool))
	}
	ctx, _ = t.tracer.Start(ctx, spanName(e), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, inject(ctx, meta)
}

// AttemptDone implements call.Observer.
func (t *Telemetry) AttemptDone(ctx context.Context, isError bool, failed *call.Failure) {
	if t.tracer == nil {
		return // the span of ctx is somebody else's
	}
	span := trace.SpanFromContext(ctx)
	if failed != nil {
		fail(span, failed.Class.String(), failed.Delivery.String(), failed.UpstreamCode)
	} else if isError {
		fail(span, toolFailed, "", 0)
	}
	span.End()
}

// End implements call.Observer.
func (t *Telemetry) End(ctx context.Context, e *call.Event, failed *call.Failure) {
	if t.instruments != nil {
		if r, ok := ctx.Value(runningKey{}).(*running); ok {
			t.instruments.inFlight.Add(ctx, -1, r.inFlight)
		}
		t.instruments.ended(ctx, e)
	}
	if t.tracer == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !e.Known {
		span.SetName(excerpt(e.Method)) // a name must not be anything that somebody wrote
	}
	if failed != nil {
		fail(span, e.Class, e.Delivery, failed.UpstreamCode)
	} else if e.IsError {
		fail(span, toolFailed, "", 0)
	}
	span.End()
}

// fail says on a span why it failed. The message stays out: it may quote arguments.
func fail(span trace.Span, class, delivery string, code int) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(errorKey.String(class))
	if delivery != "" {
		span.SetAttributes(deliveryKey.String(delivery))
	}
	if code != 0 {
		span.SetAttributes(codeKey.String(strconv.Itoa(code)))
	}
}

// spanName is "tools/call create_issue" or "resources/read".
func spanName(e *call.Event) string {
	if e.Method == call.ToolsCall {
		return e.Method + " " + excerpt(e.Tool)
	}
	return excerpt(e.Method)
}

// errorType is the error.type of a call that has ended, "" for none.
func errorType(e *call.Event) string {
	if e.Class == "" && e.IsError {
		return toolFailed
	}
	return e.Class
}

func excerpt(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}
