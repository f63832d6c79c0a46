// Package telemetry tells OpenTelemetry of calls: a span for each call and each of
// its attempts, and metrics. Names follow the semantic conventions for MCP where they
// have one (open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md); the rest
// begins with "collet.".
//
// It never records arguments, results, messages or credentials, makes no label of a
// name that somebody made up, and costs nothing where it is off: New returns nil then,
// and whoever would be told has nobody to tell.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names this instrumentation.
const scope = "github.com/collet-dev/collet/host"

// maxSeries bounds the series of one instrument; what is beyond is one series,
// otel.metric.overflow="true".
const maxSeries = 2000

// sayEvery is how often it is said that exporting does not work.
const sayEvery = time.Minute

// Options say what is told to whom.
type Options struct {
	// Tracer and Meter are a program's own. Nil: see Traces, Metrics and Prometheus.
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider

	// Traces and Metrics go to an OTLP endpoint, over HTTP with protobuf, as the
	// variables say that OpenTelemetry has for it; http://localhost:4318 by default.
	Traces, Metrics bool
	// Prometheus lets metrics be read, see Telemetry.Prometheus.
	Prometheus bool

	Version string // of this program
	Log     *slog.Logger
	// Servers are all servers as they are now.
	Servers func() []Server
	// Known says whether there is a server of that name.
	Known func(server string) bool
	// Results is what the kept results take, in bytes, and how many there are.
	Results func() (bytes int64, count int)
	// Lost is how many audit records were.
	Lost func() int64
}

// Server is one server and the state it is in.
type Server struct{ Name, State string }

// Telemetry is what is told. A nil one is told nothing.
type Telemetry struct {
	opt         Options
	tracer      trace.Tracer // nil: no traces
	instruments *instruments // nil: no metrics
	reader      *sdkmetric.ManualReader
	shutdown    []func(context.Context) error

	mu     sync.Mutex
	states map[string]string // of servers, as last told
}

// New returns nil when nobody wants to know anything. The error is an exporter's
// that cannot be made, of the variables it has.
func New(ctx context.Context, opt Options) (*Telemetry, error) {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		opt.Traces, opt.Metrics = false, false
	}
	t := &Telemetry{opt: opt, states: map[string]string{}}
	if opt.Tracer == nil && opt.Traces || opt.Meter == nil && (opt.Metrics || opt.Prometheus) {
		if err := t.provide(ctx); err != nil {
			_ = t.Close(ctx) // nothing has been recorded yet
			return nil, err
		}
	}
	if t.opt.Tracer != nil {
		t.tracer = t.opt.Tracer.Tracer(scope, trace.WithInstrumentationVersion(opt.Version))
	}
	if t.opt.Meter != nil {
		var err error
		if t.instruments, err = newInstruments(t.opt.Meter.Meter(scope, metric.WithInstrumentationVersion(opt.Version)), t); err != nil {
			_ = t.Close(ctx)
			return nil, err
		}
	}
	if t.tracer == nil && t.instruments == nil {
		return nil, nil
	}
	return t, nil
}

// provide makes the providers that the options want and no program brought.
func (t *Telemetry) provide(ctx context.Context) error {
	if p := os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" && (t.opt.Traces || t.opt.Metrics) {
		t.opt.Log.Warn("OTEL_EXPORTER_OTLP_PROTOCOL has no effect: collet speaks http/protobuf", "value", p)
	}
	otel.SetErrorHandler(&complaints{log: t.opt.Log})
	res, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "collet"), attribute.String("service.version", t.opt.Version)),
		resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if t.opt.Tracer == nil && t.opt.Traces {
		var opts []otlptracehttp.Option
		if here("TRACES") {
			opts = append(opts, otlptracehttp.WithInsecure())
		}
		exporter, err := otlptracehttp.New(ctx, opts...)
		if err != nil {
			return fmt.Errorf("export traces: %w", withoutURL(err))
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
		t.opt.Tracer, t.shutdown = p, append(t.shutdown, p.Shutdown)
	}
	if t.opt.Meter != nil {
		return nil
	}
	opts := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(maxSeries)}
	if t.opt.Metrics {
		var to []otlpmetrichttp.Option
		if here("METRICS") {
			to = append(to, otlpmetrichttp.WithInsecure())
		}
		exporter, err := otlpmetrichttp.New(ctx, to...)
		if err != nil {
			return fmt.Errorf("export metrics: %w", withoutURL(err))
		}
		opts = append(opts, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	if t.opt.Prometheus {
		t.reader = sdkmetric.NewManualReader()
		opts = append(opts, sdkmetric.WithReader(t.reader))
	}
	if t.opt.Metrics || t.opt.Prometheus {
		p := sdkmetric.NewMeterProvider(opts...)
		t.opt.Meter, t.shutdown = p, append(t.shutdown, p.Shutdown)
	}
	return nil
}

// here says whether no variable names an endpoint for a signal, which is then the
// collector on this computer. The specification has it at http://localhost:4318
// (OpenTelemetry Protocol Exporter, Configuration Options); the exporters alone
// would speak TLS to it.
func here(signal string) bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") == ""
}

// Close sends what has not been sent, until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var failed error
	for _, shutdown := range t.shutdown {
		failed = errors.Join(failed, shutdown(ctx))
	}
	return failed
}

// complaints logs what exporters complain of, now and then.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	next time.Time
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.next) {
		c.next = now.Add(sayEvery)
		c.log.Error("telemetry is being lost", "error", withoutURL(err))
	}
}

// withoutURL is an error without the endpoint's URL, which may hold a password or a
// key.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", strings.ToLower(e.Op), e.Err)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		if endpoint := os.Getenv(name); endpoint != "" && strings.Contains(err.Error(), endpoint) {
			return errors.New(strings.ReplaceAll(err.Error(), endpoint, "$"+name))
		}
	}
	return err
}
