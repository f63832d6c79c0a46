package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/sdk/failure"
)

func options() Options {
	return Options{
		Version: "1.2", Log: slog.New(slog.DiscardHandler),
		Servers: func() []Server { return []Server{{"s", "ready"}, {"off", "disabled"}} },
		Known:   func(name string) bool { return name == "s" },
		Results: func() (int64, int) { return 5000, 2 },
		Lost:    func() int64 { return 3 },
	}
}

func mustNew(t *testing.T, opt Options) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func event(tool string) *call.Event {
	return &call.Event{ID: "id1", Method: call.ToolsCall, Server: "s", Tool: tool, Caller: exposure.Model, Owner: "token:ci", Session: "sess", Arguments: json.RawMessage(`{"k":"v"}`)}
}

// made is one call with one attempt; it returns what the attempt sent.
func made(tel *Telemetry, ctx context.Context, e *call.Event, meta string, isError bool, failed *call.Failure) (sent json.RawMessage) {
	ctx = tel.Begin(ctx, e, json.RawMessage(meta))
	inner, sent := tel.Attempt(ctx, e, 1, json.RawMessage(meta))
	tel.AttemptDone(inner, isError, failed)
	e.Known, e.IsError, e.Duration, e.Attempts, e.ResultBytes = true, isError, 30*time.Millisecond, 1, 100
	if failed != nil {
		e.Class, e.Delivery = failed.Class.String(), failed.Delivery.String()
	}
	tel.End(ctx, e, failed)
	return sent
}

func failed() *call.Failure {
	f := failure.New(failure.Timeout, failure.DeliveryUnknown, "the secret was hunter2")
	f.UpstreamCode = -32000
	return &call.Failure{Failure: *f}
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpans(t *testing.T) {
	r := receive(t)
	opt := options()
	opt.Traces = true
	tel := mustNew(t, opt)
	sent := made(tel, t.Context(), event("t"), `{"a": 1.0,"traceparent":"`+parent+`","tracestate":"x=1"}`, false, nil)
	made(tel, t.Context(), event("bad"), ``, true, nil)
	made(tel, t.Context(), event("slow"), ``, false, failed())
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.resource, "service.name=collet") || !strings.Contains(r.resource, "service.version=1.2") {
		t.Errorf("resource %s", r.resource)
	}
	var got []string
	for _, s := range r.spans {
		got = append(got, fmt.Sprintf("%s %s %s %s", s.Name, s.Kind, s.Status.GetCode(), attributes(s.Attributes)))
	}
	const inner = "mcp.method.name=tools/call collet.server=s collet.attempt=1 gen_ai.operation.name=execute_tool gen_ai.tool.name="
	const outer = "mcp.method.name=tools/call collet.server=s collet.caller=model collet.principal=token:ci collet.call.id=id1 gen_ai.operation.name=execute_tool gen_ai.tool.name="
	want := []string{
		"tools/call t SPAN_KIND_CLIENT STATUS_CODE_UNSET " + inner + "t",
		"tools/call t SPAN_KIND_SERVER STATUS_CODE_UNSET " + outer + "t mcp.session.id=sess",
		"tools/call bad SPAN_KIND_CLIENT STATUS_CODE_ERROR " + inner + "bad error.type=tool_error",
		"tools/call bad SPAN_KIND_SERVER STATUS_CODE_ERROR " + outer + "bad mcp.session.id=sess error.type=tool_error",
		"tools/call slow SPAN_KIND_CLIENT STATUS_CODE_ERROR " + inner + "slow error.type=timeout collet.delivery=unknown rpc.response.status_code=-32000",
		"tools/call slow SPAN_KIND_SERVER STATUS_CODE_ERROR " + outer + "slow mcp.session.id=sess error.type=timeout collet.delivery=unknown rpc.response.status_code=-32000",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Fatalf("got\n%s\nwant\n%s", a, b)
	}
	// client -> call -> attempt -> server is one trace.
	attempt, whole := r.spans[0], r.spans[1]
	if id(whole.TraceId) != parent[3:35] || id(whole.ParentSpanId) != parent[36:52] || id(attempt.ParentSpanId) != id(whole.SpanId) || whole.TraceState != "x=1" {
		t.Errorf("the call continues %x %x %s, its attempt %x", whole.TraceId, whole.ParentSpanId, whole.TraceState, attempt.ParentSpanId)
	}
	if want := `{"a": 1.0,"traceparent":"00-` + id(attempt.TraceId) + `-` + id(attempt.SpanId) + `-01","tracestate":"x=1"}`; string(sent) != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
	if first, second := r.spans[1], r.spans[3]; len(second.ParentSpanId) != 0 || id(first.TraceId) == id(second.TraceId) {
		t.Error("a call without a trace is no trace of its own")
	}
	if strings.Contains(r.raw.String(), "hunter2") {
		t.Error("a message was exported")
	}
}

func id(b []byte) string { return hex.EncodeToString(b) }

// What a client says in _meta counts before what its HTTP request says, which is a
// link then.
func TestParents(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	opt := options()
	opt.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	tel := mustNew(t, opt)
	const other = "00-11111111111111111111111111111111-2222222222222222-01"
	for _, c := range []struct{ meta, header, bag, trace, link, sent string }{
		{`{"traceparent":"` + parent + `"}`, "", "", parent[3:35], "", `{"traceparent":"NEW"}`},
		{``, other, "k=v", other[3:35], "", `{"traceparent":"NEW","baggage":"k=v"}`},
		{`{"traceparent":"` + parent + `","baggage":"b=c"}`, other, "k=v", parent[3:35], other[3:35], `{"traceparent":"NEW","baggage":"b=c"}`},
		{`{"x":{"traceparent":1}}`, other, "", other[3:35], "", `{"traceparent":"NEW","x":{"traceparent":1}}`},
		// What is no trace context is a new trace, and does not go on.
		{`{"traceparent":"00-1-2-01","tracestate":"x=1"}`, "", "", "", "", `{"traceparent":"NEW","tracestate":""}`},
		{`{"traceparent":7}`, "", "", "", "", `{"traceparent":"NEW"}`},
	} {
		var ctx context.Context
		request := httptest.NewRequest("POST", "/mcp", nil)
		if c.header != "" {
			request.Header.Set("Traceparent", c.header)
		}
		if c.bag != "" {
			request.Header.Set("Baggage", c.bag)
		}
		tel.Continue(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ctx = r.Context() })).ServeHTTP(httptest.NewRecorder(), request)
		recorder.Reset()
		e := event("t")
		sent := made(tel, ctx, e, c.meta, false, nil)
		ended := recorder.Ended()
		attempt, whole := ended[0], ended[1]
		traceID := whole.SpanContext().TraceID().String()
		link := ""
		for _, l := range whole.Links() {
			link += l.SpanContext.TraceID().String()
		}
		if c.trace != "" && traceID != c.trace || link != c.link || e.Trace != traceID {
			t.Errorf("%+v: trace %s (event %s), linked to %q", c, traceID, e.Trace, link)
		}
		want := strings.Replace(c.sent, "NEW", "00-"+traceID+"-"+attempt.SpanContext().SpanID().String()+"-01", 1)
		if string(sent) != want {
			t.Errorf("%+v: sent %s, want %s", c, sent, want)
		}
	}
}

// Without traces nothing is touched, and no span of a program's own is ended.
func TestMetricsAlone(t *testing.T) {
	opt := options()
	opt.Prometheus = true
	tel := mustNew(t, opt)
	defer tel.Close(t.Context())
	recorder := tracetest.NewSpanRecorder()
	ctx, own := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("own").Start(t.Context(), "own")
	ctx = baggage.ContextWithBaggage(ctx, mustBaggage(t, "k=v"))
	const meta = ` {"traceparent" : "x"}`
	if sent := made(tel, ctx, event("t"), meta, false, failed()); string(sent) != meta {
		t.Errorf("sent %s", sent)
	}
	if len(recorder.Ended()) != 0 || !trace.SpanFromContext(ctx).IsRecording() {
		t.Error("the program's span was ended")
	}
	own.End()
}

func mustBaggage(t *testing.T, text string) baggage.Baggage {
	t.Helper()
	b, err := baggage.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNobodyIsTold(t *testing.T) {
	tel, err := New(t.Context(), options())
	if tel != nil || err != nil {
		t.Fatalf("%v %v", tel, err)
	}
	tel.ServerChanged("s", "ready")
	tel.Denied("POST", "host")
	next := http.NotFoundHandler()
	if fmt.Sprintf("%p %p", tel.Count(next), tel.Continue(next)) != fmt.Sprintf("%p %p", next, next) || tel.Prometheus() != nil {
		t.Error("something stands before the handler")
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Error(err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	opt := options()
	opt.Traces, opt.Metrics = true, true
	if tel, err := New(t.Context(), opt); tel != nil || err != nil {
		t.Errorf("OTEL_SDK_DISABLED: %v %v", tel, err)
	}
}

// scrape reads the metrics as Prometheus' own parser does: "name{labels} value".
func scrape(t *testing.T, tel *Telemetry) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Prometheus().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if format := expfmt.ResponseFormat(w.Header()); format.FormatType() != expfmt.TypeTextPlain {
		t.Errorf("Content-Type %s", w.Header())
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := name + "{" + strings.Join(labels, ",") + "}"
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				out[key] = fmt.Sprintf("counter %v", m.Counter.GetValue())
			case dto.MetricType_GAUGE:
				out[key] = fmt.Sprintf("gauge %v", m.Gauge.GetValue())
			case dto.MetricType_HISTOGRAM:
				h := m.Histogram
				text := fmt.Sprintf("histogram %d %.3f", h.GetSampleCount(), h.GetSampleSum())
				for _, b := range h.Bucket {
					if b.GetCumulativeCount() > 0 {
						text += fmt.Sprintf(" <=%v", b.GetUpperBound())
						break
					}
				}
				if last := h.Bucket[len(h.Bucket)-1]; last.GetCumulativeCount() != h.GetSampleCount() {
					text += " broken"
				}
				out[key] = text
			default:
				t.Errorf("%s is a %s", name, f.GetType())
			}
		}
	}
	return out
}

func expect(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	if t.Failed() {
		for k, v := range got {
			t.Logf("%s %s", k, v)
		}
	}
}

func TestPrometheus(t *testing.T) {
	opt := options()
	opt.Prometheus = true
	tel := mustNew(t, opt)
	defer tel.Close(t.Context())
	made(tel, t.Context(), event("t"), ``, false, nil)
	made(tel, t.Context(), event("t"), ``, true, nil)
	made(tel, t.Context(), event("t"), ``, false, failed())
	odd := event("q\"\\\n\xff")
	made(tel, t.Context(), odd, ``, false, nil)
	read := &call.Event{Method: "resources/read", Server: "s", Caller: exposure.CLI, Known: true, Duration: 500 * time.Second}
	ctx := tel.Begin(t.Context(), read, nil)
	for _, state := range []string{"starting", "ready", "backing-off", "starting", "ready", "degraded", "failed", "starting", "failed", "starting", "ready", "idle"} {
		tel.ServerChanged("s", state)
	}
	tel.Denied("POST", "no_token")
	handler := tel.Count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.(http.Flusher).Flush()
	}), "/mcp")
	for _, request := range []struct{ method, path string }{{"POST", "/mcp"}, {"BREW", "/pot/1"}} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(request.method, request.path, nil))
	}
	expect(t, scrape(t, tel), map[string]string{
		"collet_calls_total{collet_caller=model,collet_server=s,gen_ai_tool_name=t,mcp_method_name=tools/call}":                       "counter 1",
		"collet_calls_total{collet_caller=model,collet_server=s,error_type=tool_error,gen_ai_tool_name=t,mcp_method_name=tools/call}": "counter 1",
		"collet_calls_total{collet_caller=model,collet_server=s,error_type=timeout,gen_ai_tool_name=t,mcp_method_name=tools/call}":    "counter 1",
		"mcp_server_operation_duration_seconds{collet_server=s,gen_ai_tool_name=t,mcp_method_name=tools/call}":                        "histogram 1 0.030 <=0.05",
		"collet_calls_total{collet_caller=model,collet_server=s,gen_ai_tool_name=q\"\\\n\uFFFD,mcp_method_name=tools/call}":           "counter 1",
		"collet_calls_in_flight{collet_caller=model,collet_server=s}":                                                                 "gauge 0",
		"collet_calls_in_flight{collet_caller=cli,collet_server=s}":                                                                   "gauge 1",
		"collet_call_arguments_bytes_total{collet_server=s,gen_ai_tool_name=t,mcp_method_name=tools/call}":                            "counter 27",
		"collet_call_results_bytes_total{collet_server=s,gen_ai_tool_name=t,mcp_method_name=tools/call}":                              "counter 300",
		"collet_server_state{collet_server=s,state=ready}":                                                                            "gauge 1",
		"collet_server_state{collet_server=s,state=failed}":                                                                           "gauge 0",
		"collet_server_state{collet_server=off,state=disabled}":                                                                       "gauge 1",
		"collet_server_starts_total{collet_server=s}":                                                                                 "counter 4",
		"collet_server_crashes_total{collet_server=s}":                                                                                "counter 2",
		"collet_http_denials_total{http_request_method=POST,reason=no_token}":                                                         "counter 1",
		"collet_results_size_bytes{}": "gauge 5000",
		"collet_results_kept{}":       "gauge 2",
		"collet_audit_lost_total{}":   "counter 3",
		"http_server_active_requests{http_request_method=POST,url_scheme=http}": "gauge 0",
	})
	tel.End(ctx, read, nil)
	got := scrape(t, tel)
	expect(t, got, map[string]string{
		"collet_calls_in_flight{collet_caller=cli,collet_server=s}":                             "gauge 0",
		"mcp_server_operation_duration_seconds{collet_server=s,mcp_method_name=resources/read}": "histogram 1 500.000 <=+Inf",
	})
	var http []string
	for k := range got {
		if strings.HasPrefix(k, "http_server_request_duration_seconds{") {
			http = append(http, k)
		}
	}
	for _, want := range []string{"http_request_method=POST,http_response_status_code=418,http_route=/mcp", "http_request_method=_OTHER,http_response_status_code=418,url_scheme"} {
		if !strings.Contains(strings.Join(http, " "), want) {
			t.Errorf("%q has no %s", http, want)
		}
	}
	target := false
	for k := range got {
		target = target || strings.HasPrefix(k, "target_info{") && strings.Contains(k, "service_name=collet")
	}
	if !target {
		t.Error("no target_info")
	}
}

// Names that nothing has make no series, however many there are; and neither does a
// server whose tools change without end make them without bound.
func TestCardinality(t *testing.T) {
	opt := options()
	opt.Prometheus = true
	tel := mustNew(t, opt)
	defer tel.Close(t.Context())
	before := len(scrape(t, tel))
	for i := range 100 {
		e := event(fmt.Sprint("made-up-", i))
		e.Server = fmt.Sprint("nobody-", i)
		ctx := tel.Begin(t.Context(), e, nil)
		e.Class = "not-found"
		tel.End(ctx, e, failed())
	}
	got := scrape(t, tel)
	if more := len(got) - before; more > 5 {
		t.Errorf("%d series of unknown names", more)
	}
	expect(t, got, map[string]string{"collet_calls_total{collet_caller=model,error_type=not-found,mcp_method_name=tools/call}": "counter 100"})
	for i := range maxSeries + 500 {
		made(tel, t.Context(), event(fmt.Sprint("tool-", i)), ``, false, nil)
	}
	calls := 0
	for k := range scrape(t, tel) {
		if strings.HasPrefix(k, "collet_calls_total{") {
			calls++
		}
	}
	if calls > maxSeries {
		t.Errorf("%d series of one counter", calls)
	}
}

func TestMetricsByOTLP(t *testing.T) {
	r := receive(t)
	opt := options()
	opt.Metrics = true
	tel := mustNew(t, opt)
	made(tel, t.Context(), event("t"), ``, false, nil)
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := r.metrics["collet.calls"].GetSum().GetDataPoints()
	if len(calls) != 1 || calls[0].GetAsInt() != 1 || attributes(calls[0].Attributes) != "collet.caller=model collet.server=s gen_ai.tool.name=t mcp.method.name=tools/call" {
		t.Errorf("calls %v", calls)
	}
	duration := r.metrics["mcp.server.operation.duration"]
	if points := duration.GetHistogram().GetDataPoints(); duration.GetUnit() != "s" || len(points) != 1 || points[0].GetCount() != 1 || points[0].GetSum() != 0.03 {
		t.Errorf("duration %v", duration)
	}
	if r.metrics["collet.server.state"].GetGauge() == nil || tel.Prometheus() != nil {
		t.Error("no gauge of states, or metrics to be read that nobody wanted")
	}
}

// Without variables all goes to the collector on this computer, without TLS.
func TestEndpointOfThisComputer(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		t.Setenv(name, "")
	}
	l, err := net.Listen("tcp", "127.0.0.1:4318")
	if err != nil {
		t.Skip("another program has the collector's port: ", err)
	}
	var mu sync.Mutex
	var paths []string
	web := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
	})}
	t.Cleanup(func() { web.Close() })
	go web.Serve(l)
	opt := options()
	opt.Traces, opt.Metrics = true, true
	tel := mustNew(t, opt)
	made(tel, t.Context(), event("t"), ``, false, nil)
	if err := tel.Close(t.Context()); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"/v1/metrics", "/v1/traces"}) {
		t.Errorf("it got %q", paths)
	}
}

// An endpoint that is not there is said, without what its URL holds, and holds up
// nothing.
func TestEndpointIsGone(t *testing.T) {
	r := receive(t)
	r.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(r.URL, "http://", "http://user:hunter2@", 1))
	var said bytes.Buffer
	opt := options()
	opt.Traces, opt.Log = true, slog.New(slog.NewTextHandler(&said, nil))
	tel := mustNew(t, opt)
	made(tel, t.Context(), event("t"), ``, false, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := tel.Close(ctx)
	if text := fmt.Sprint(err, said.String()); strings.Contains(text, "hunter2") || text == "<nil>" {
		t.Errorf("said %s", text)
	}
}

// Whatever comes as _meta, what goes on is JSON and has the trace once.
func FuzzInject(f *testing.F) {
	for _, meta := range []string{``, `{}`, `{"traceparent":"` + parent + `","tracestate":"a=b"}`, ` {"a":[1.0],"baggage":"x","traceparent":null,"traceparent":1}`} {
		f.Add(meta)
	}
	tracer := sdktrace.NewTracerProvider().Tracer("t")
	f.Fuzz(func(t *testing.T, meta string) {
		if meta != "" && (!json.Valid([]byte(meta)) || !gjson.Parse(meta).IsObject()) {
			remoteOf(json.RawMessage(meta)) // Begin is told before anybody has checked it
			return
		}
		ctx, span := tracer.Start(context.Background(), "s")
		if remote := remoteOf(json.RawMessage(meta)); remote.IsValid() {
			ctx, span = tracer.Start(trace.ContextWithRemoteSpanContext(ctx, remote), "s")
		}
		out := inject(ctx, json.RawMessage(meta))
		var members map[string]json.RawMessage
		if err := json.Unmarshal(out, &members); err != nil {
			t.Fatalf("%s became %s: %v", meta, out, err)
		}
		if want := `"00-` + span.SpanContext().TraceID().String(); !strings.HasPrefix(string(members["traceparent"]), want) {
			t.Fatalf("%s became %s", meta, out)
		}
	})
}
