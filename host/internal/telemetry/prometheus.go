package telemetry

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Prometheus lets metrics be read in Prometheus' text format, version 0.0.4; nil
// unless the options want that. Names are the OpenTelemetry ones by the rules of its
// compatibility document: collet.calls is collet_calls_total.
//
// The format is written here: client_golang would take a millisecond of the start of
// every command, and a megabyte.
func (t *Telemetry) Prometheus() http.Handler {
	if t == nil || t.reader == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all metricdata.ResourceMetrics
		if err := t.reader.Collect(r.Context(), &all); err != nil {
			t.opt.Log.Warn("metrics cannot be read", "error", err)
			http.Error(w, "the metrics cannot be read; the log says why", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write(exposition(&all)) // a client that is gone needs no answer
	})
}

// exposition is what Prometheus reads.
func exposition(all *metricdata.ResourceMetrics) []byte {
	var p page
	var metrics []metricdata.Metrics
	for _, scope := range all.ScopeMetrics {
		metrics = append(metrics, scope.Metrics...)
	}
	slices.SortFunc(metrics, func(a, b metricdata.Metrics) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range metrics {
		p.metric(m)
	}
	if all.Resource != nil {
		p.head("target_info", "gauge", "What is measured.")
		p.sample("target_info", labels(*all.Resource.Set()), "", "1")
	}
	return p.Bytes()
}

// page is the text as it is being written.
type page struct{ bytes.Buffer }

// escaped are texts as the format has them: help without quotes, labels with.
var (
	escapedHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapedLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func (p *page) head(name, kind, about string) {
	p.WriteString("# HELP " + name + " " + escapedHelp.Replace(about) + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one line. Labels are as labels has them; le is another one, if it is
// not empty.
func (p *page) sample(name, labels, le, value string) {
	p.WriteString(name)
	if labels != "" || le != "" {
		p.WriteByte('{')
		p.WriteString(labels)
		if le != "" {
			if labels != "" {
				p.WriteByte(',')
			}
			p.WriteString(`le="` + le + `"`)
		}
		p.WriteByte('}')
	}
	p.WriteByte(' ')
	p.WriteString(value)
	p.WriteByte('\n')
}

func (p *page) metric(m metricdata.Metrics) {
	name := metricName(m)
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind := "gauge"
		if data.IsMonotonic {
			kind, name = "counter", name+"_total"
		}
		p.head(name, kind, m.Description)
		p.points(name, data.DataPoints)
	case metricdata.Gauge[int64]:
		p.head(name, "gauge", m.Description)
		p.points(name, data.DataPoints)
	case metricdata.Histogram[float64]:
		p.head(name, "histogram", m.Description)
		p.histograms(name, data.DataPoints)
	} // no instrument has other data
}

// labelled is a data point and its labels.
type labelled[T any] struct {
	labels string
	point  T
}

// inOrder are data points in the order of their labels, the same with every scrape.
func inOrder[T any](points []T, attributes func(T) attribute.Set) []labelled[T] {
	out := make([]labelled[T], len(points))
	for i, d := range points {
		out[i] = labelled[T]{labels(attributes(d)), d}
	}
	slices.SortFunc(out, func(a, b labelled[T]) int { return cmp.Compare(a.labels, b.labels) })
	return out
}

func (p *page) points(name string, points []metricdata.DataPoint[int64]) {
	for _, d := range inOrder(points, func(d metricdata.DataPoint[int64]) attribute.Set { return d.Attributes }) {
		p.sample(name, d.labels, "", strconv.FormatInt(d.point.Value, 10))
	}
}

func (p *page) histograms(name string, points []metricdata.HistogramDataPoint[float64]) {
	for _, d := range inOrder(points, func(d metricdata.HistogramDataPoint[float64]) attribute.Set { return d.Attributes }) {
		var below uint64
		for i, n := range d.point.BucketCounts {
			below += n
			bound := "+Inf"
			if i < len(d.point.Bounds) {
				bound = float(d.point.Bounds[i])
			}
			p.sample(name+"_bucket", d.labels, bound, strconv.FormatUint(below, 10))
		}
		p.sample(name+"_sum", d.labels, "", float(d.point.Sum))
		p.sample(name+"_count", d.labels, "", strconv.FormatUint(d.point.Count, 10))
	}
}

func float(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// metricName is a metric's name with its unit, without what its kind adds.
func metricName(m metricdata.Metrics) string {
	name := word(m.Name)
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	return name
}

// word is a name as Prometheus allows it.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// labels are the attributes, sorted by their names.
func labels(set attribute.Set) string {
	var b strings.Builder
	for _, kv := range set.ToSlice() {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		value := strings.ToValidUTF8(kv.Value.String(), "\uFFFD")
		b.WriteString(word(string(kv.Key)) + `="` + escapedLabel.Replace(value) + `"`)
	}
	return b.String()
}
