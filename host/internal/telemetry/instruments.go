package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/collet-dev/collet/host/internal/call"
)

// durations are the bounds that the conventions give for MCP operations, in seconds,
// and two below them: what an adapter answers from memory takes a millisecond.
var durations = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// requests are the bounds of the conventions for HTTP requests, in seconds.
var requests = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// States are all that a server can be in.
var States = []string{"idle", "starting", "ready", "degraded", "backing-off", "failed", "stopped", "disabled", "misconfigured"}

type instruments struct {
	duration           metric.Float64Histogram
	calls              metric.Int64Counter
	inFlight           metric.Int64UpDownCounter
	arguments, results metric.Int64Counter
	starts, crashes    metric.Int64Counter
	denials            metric.Int64Counter
	requests           metric.Float64Histogram
	active             metric.Int64UpDownCounter
}

// newInstruments makes them all. Those that are read when somebody asks are t's.
func newInstruments(m metric.Meter, t *Telemetry) (*instruments, error) {
	var (
		i      instruments
		failed error
	)
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		failed = errors.Join(failed, err)
		return c
	}
	sum := func(name, unit, about string) metric.Int64UpDownCounter {
		c, err := m.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(about))
		failed = errors.Join(failed, err)
		return c
	}
	histogram := func(name, about string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
		failed = errors.Join(failed, err)
		return h
	}
	gauge := func(name, unit, about string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about))
		failed = errors.Join(failed, err)
		return g
	}
	i.duration = histogram("mcp.server.operation.duration", "Duration of calls and of requests that are passed on, retries and starts included.", durations)
	i.calls = counter("collet.calls", "{call}", "Calls of tools that ended, by how they ended.")
	i.inFlight = sum("collet.calls.in_flight", "{call}", "Calls and requests that are running.")
	i.arguments = counter("collet.call.arguments", "By", "Bytes of arguments and parameters.")
	i.results = counter("collet.call.results", "By", "Bytes of servers' answers.")
	i.starts = counter("collet.server.starts", "{start}", "Starts of adapters that began.")
	i.crashes = counter("collet.server.crashes", "{crash}", "Ends of adapters that nobody asked for.")
	i.denials = counter("collet.http.denials", "{request}", "HTTP requests that were refused.")
	i.requests = histogram("http.server.request.duration", "Duration of HTTP requests, streams among them.", requests)
	i.active = sum("http.server.active_requests", "{request}", "HTTP requests that are being served.")
	states := gauge("collet.server.state", "", "1 for the state that the server is in, 0 for the others.")
	size := gauge("collet.results.size", "By", "What kept results take on disk.")
	count := gauge("collet.results.kept", "{result}", "Results that are kept.")
	lost, err := m.Int64ObservableCounter("collet.audit.lost", metric.WithUnit("{record}"), metric.WithDescription("Audit records that could not be written."))
	failed = errors.Join(failed, err)
	if failed != nil {
		return nil, failed
	}
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, s := range t.opt.Servers() {
			for _, state := range States {
				var in int64
				if s.State == state {
					in = 1
				}
				o.ObserveInt64(states, in, metric.WithAttributes(serverKey.String(s.Name), attribute.String("state", state)))
			}
		}
		bytes, n := t.opt.Results()
		o.ObserveInt64(size, bytes)
		o.ObserveInt64(count, int64(n))
		o.ObserveInt64(lost, t.opt.Lost())
		return nil
	}, states, size, count, lost)
	return &i, err
}

// inFlight are the attributes of a call that has not been looked into: its server,
// if there is one of that name.
func (t *Telemetry) inFlight(e *call.Event) attribute.Set {
	if t.opt.Known(e.Server) {
		return attribute.NewSet(serverKey.String(e.Server), callerKey.String(string(e.Caller)))
	}
	return attribute.NewSet(callerKey.String(string(e.Caller)))
}

// ended counts a call. Of a name that nothing has there is no attribute.
func (i *instruments) ended(ctx context.Context, e *call.Event) {
	of := []attribute.KeyValue{methodKey.String(excerpt(e.Method))}
	if e.Known {
		of = append(of, serverKey.String(e.Server))
		if e.Method == call.ToolsCall {
			of = append(of, toolKey.String(e.Tool))
		}
	}
	bytes := metric.WithAttributes(of[:len(of):len(of)]...)
	i.arguments.Add(ctx, int64(len(e.Arguments)), bytes)
	i.results.Add(ctx, int64(e.ResultBytes), bytes)
	if class := errorType(e); class != "" {
		of = append(of, errorKey.String(class))
	}
	i.duration.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(of[:len(of):len(of)]...))
	i.calls.Add(ctx, 1, metric.WithAttributes(append(of, callerKey.String(string(e.Caller)))...))
}

// ServerChanged is told of every state of a server, in order.
func (t *Telemetry) ServerChanged(name, state string) {
	if t == nil || t.instruments == nil {
		return
	}
	t.mu.Lock()
	before := t.states[name]
	t.states[name] = state
	t.mu.Unlock()
	of := metric.WithAttributes(serverKey.String(name))
	switch {
	case state == "starting":
		t.instruments.starts.Add(context.Background(), 1, of)
	case (before == "ready" || before == "degraded") && (state == "backing-off" || state == "failed"):
		t.instruments.crashes.Add(context.Background(), 1, of)
	}
}

// Denied is told of every request over HTTP that was refused. Both words are among
// few.
func (t *Telemetry) Denied(method, reason string) {
	if t != nil && t.instruments != nil {
		t.instruments.denials.Add(context.Background(), 1,
			metric.WithAttributes(attribute.String("http.request.method", method), attribute.String("reason", reason)))
	}
}
