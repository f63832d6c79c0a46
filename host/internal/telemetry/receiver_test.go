package telemetry

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP endpoint over HTTP.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	raw      bytes.Buffer // all bodies
	resource string
	spans    []*spans.Span
	metrics  map[string]*metrics.Metric // the newest of each name
}

// receive starts a receiver and points the exporters' variables at it.
func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{metrics: map[string]*metrics.Metric{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := read(req)
		if err == nil {
			err = r.take(req.URL.Path, body)
		}
		if err != nil {
			t.Errorf("%s: %v", req.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(r.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	return r
}

func read(req *http.Request) ([]byte, error) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(body)
}

func (r *receiver) take(path string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(body)
	switch path {
	case "/v1/traces":
		var m collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, of := range m.ResourceSpans {
			r.resource = attributes(of.Resource.Attributes)
			for _, s := range of.ScopeSpans {
				r.spans = append(r.spans, s.Spans...)
			}
		}
	case "/v1/metrics":
		var m collectormetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, of := range m.ResourceMetrics {
			for _, s := range of.ScopeMetrics {
				for _, one := range s.Metrics {
					r.metrics[one.Name] = one
				}
			}
		}
	}
	return nil
}

// attributes are sorted as they came: "a=1 b=x".
func attributes(all []*common.KeyValue) string {
	var out []string
	for _, kv := range all {
		value := kv.Value.GetStringValue()
		if _, ok := kv.Value.Value.(*common.AnyValue_IntValue); ok {
			value = string(rune('0' + kv.Value.GetIntValue()%10))
		}
		out = append(out, kv.Key+"="+value)
	}
	return strings.Join(out, " ")
}
