package host_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

const (
	clientTrace  = "0af7651916cd43dd8448eb211c80319c"
	clientParent = "00-" + clientTrace + "-b7ad6b7169203331-01"
)

// A client's trace goes through the host to the server, whatever it speaks: what the
// server gets names the attempt, which is part of the call, which is the client's.
func TestTraceGoesUpstream(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	site := startSite(t, "")
	opt := options(t, fmt.Sprintf(`
[host]
exposure = "direct"
[servers.old]
command = "${BUILT}/faultserver"
[servers.new]
command = "${BUILT}/faultserver"
args = ["-fault", "modern-only"]
[servers.http]
url = %q
`, site.url))
	opt.TracerProvider = provider
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	url := endpoint(t, h, host.HTTPOptions{})

	// upstream is the traceparent that the server got, and the chain of spans from it.
	check := func(what, raw string) {
		t.Helper()
		meta := gjson.Get(raw, "params._meta")
		if got := meta.Get("tracestate").String(); got != "a=b" {
			t.Errorf("%s: tracestate %q in %s", what, got, meta)
		}
		parts := strings.Split(meta.Get("traceparent").String(), "-")
		if len(parts) != 4 || parts[1] != clientTrace {
			t.Fatalf("%s: the server got %s", what, meta)
		}
		var chain []string
		for at := parts[2]; ; {
			span := spanOf(recorder, at)
			if span == nil {
				break
			}
			chain = append(chain, span.Name()+" "+span.SpanKind().String())
			at = span.Parent().SpanID().String()
		}
		if got := strings.Join(chain, ", "); got != "tools/call raw client, tools/call raw server" {
			t.Errorf("%s: the chain is %s", what, got)
		}
	}
	for _, legacy := range []bool{false, true} {
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url + "/mcp"}, mcp.Options{SkipProbe: legacy})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
		for _, server := range []string{"old", "new", "http"} {
			res, err := c.CallTool(patient(t), server+"__raw", json.RawMessage(`{}`), mcp.RequestOptions{
				Meta: json.RawMessage(`{"traceparent":"` + clientParent + `","tracestate":"a=b","x":1.0}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			text := gjson.GetBytes(res, "content.0.text").String()
			check(fmt.Sprint(server, " legacy ", legacy), text)
			if !strings.Contains(text, `"x":1.0`) {
				t.Errorf("%s: the rest of _meta is %s", server, text)
			}
		}
	}
	// Headers count where _meta says nothing.
	body := strings.Replace(strings.Replace(pingBody, "server/discover", "tools/call", 1), `"params":{`, `"params":{"name":"old__raw","arguments":{},`, 1)
	res, answer := exchange(t, "POST", url+"/mcp", body, "Mcp-Name", "old__raw", "Traceparent", clientParent, "Tracestate", "a=b")
	if res.StatusCode != 200 {
		t.Fatalf("%s %s", res.Status, answer)
	}
	check("headers", gjson.Get(answer, "result.content.0.text").String())

	// A program's own span is the parent of what it calls.
	ctx, own := provider.Tracer("own").Start(patient(t), "own")
	if _, err := h.Call(ctx, host.Request{Tool: "old/raw"}); err != nil {
		t.Fatal(err)
	}
	ended := recorder.Ended()
	if last := ended[len(ended)-1]; last.Parent().SpanID() != own.SpanContext().SpanID() || last.SpanKind() != trace.SpanKindInternal {
		t.Errorf("the call's parent is %v, its kind %v", last.Parent(), last.SpanKind())
	}
}

func spanOf(r *tracetest.SpanRecorder, id string) sdktrace.ReadOnlySpan {
	for _, s := range r.Ended() {
		if s.SpanContext().SpanID().String() == id {
			return s
		}
	}
	return nil
}

// collector takes what is exported by OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu    sync.Mutex
	raw   bytes.Buffer
	spans []string
	paths map[string]int
}

func collect(t *testing.T) *collector {
	c := &collector{paths: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(data)
		c.paths[r.URL.Path]++
		var m collectortrace.ExportTraceServiceRequest
		if r.URL.Path == "/v1/traces" && proto.Unmarshal(data, &m) == nil {
			for _, of := range m.ResourceSpans {
				for _, s := range of.ScopeSpans {
					for _, span := range s.Spans {
						c.spans = append(c.spans, span.Name)
					}
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// As [host.telemetry] says, spans and metrics go to the endpoint and metrics can be
// read by who may use everything; and nothing of it tells a secret.
func TestTelemetryOfAConfiguration(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	dir := t.TempDir()
	tokens, scoped := filepath.Join(dir, "tokens"), filepath.Join(dir, "scoped.toml")
	const narrow, broad = "a-narrow-token-of-this-test-that-is-long", "a-broad-token-of-this-test-that-is-long"
	for file, text := range map[string]string{
		tokens: sharedToken + "\n",
		scoped: fmt.Sprintf("[tokens.narrow]\nsha256 = %q\nservers = [\"other\"]\n[tokens.broad]\nsha256 = %q\nservers = [\"*\"]\n", hashOf(narrow), hashOf(broad)),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := options(t, fmt.Sprintf(`
[host.telemetry]
traces = true
metrics = "both"
[servers.f]
command = "${BUILT}/faultserver"
exposure = "direct"
env = { SECRET = %q }
`, private))
	opt.Telemetry = true
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	url := endpoint(t, h, host.HTTPOptions{TokenFile: tokens, ScopedTokenFile: scoped})
	arguments := `{"text":"` + private + `"}`
	mustCall(t, h, "f/echo", arguments)
	mustCall(t, h, "f/c_error", arguments)
	mustFail(t, h, host.Request{Tool: "f/" + private})
	client, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url + "/mcp", Header: http.Header{"Authorization": {"Bearer " + broad}}}, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CallTool(patient(t), "f__echo", json.RawMessage(arguments), mcp.RequestOptions{}); err != nil {
		t.Error(err)
	}
	client.Close(patient(t))

	for _, one := range []struct {
		header []string
		want   int
	}{
		{nil, 401},
		{[]string{"Authorization", "Bearer " + private + "-is-no-token-here"}, 401},
		{[]string{"Authorization", "Bearer " + narrow}, 403},
		{[]string{"Authorization", "Bearer " + sharedToken, "Host", "evil.example"}, 403},
		{[]string{"Authorization", "Bearer " + sharedToken, "Origin", "http://evil.example"}, 403},
		{[]string{"Authorization", "Bearer " + broad}, 200},
		{[]string{"Authorization", "Bearer " + sharedToken}, 200},
	} {
		res, text := exchange(t, "GET", url+"/metrics", "", one.header...)
		if res.StatusCode != one.want {
			t.Errorf("%q: %s", one.header, res.Status)
		}
		if has := strings.Contains(text, "collet_calls_total"); has != (one.want == 200) {
			t.Errorf("%q is told %.300s", one.header, text)
		}
		if one.want != 200 {
			continue
		}
		for _, line := range []string{
			`collet_calls_total{collet_caller="model",collet_server="f",gen_ai_tool_name="echo",mcp_method_name="tools/call"} 1`,
			`collet_calls_total{collet_caller="cli",collet_server="f",error_type="tool_error",gen_ai_tool_name="c_error",mcp_method_name="tools/call"} 1`,
			`collet_calls_total{collet_caller="program",error_type="not-found",mcp_method_name="tools/call"} 1`,
			`collet_server_state{collet_server="f",state="ready"} 1`,
			`collet_server_starts_total{collet_server="f"} 1`,
			`collet_http_denials_total{http_request_method="GET",reason="host"} 1`,
			`collet_http_denials_total{http_request_method="GET",reason="scope"} 1`,
			`http_server_active_requests{http_request_method="GET",url_scheme="http"} 1`,
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("no %s in\n%s", line, text)
			}
		}
		for _, secret := range []string{private, sharedToken, narrow, broad} {
			if strings.Contains(text, secret) {
				t.Errorf("the metrics tell %s", secret)
			}
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if names := strings.Join(c.spans, ","); strings.Count(names, "tools/call echo") != 4 || strings.Count(names, "tools/call c_error") != 2 || c.paths["/v1/metrics"] == 0 {
		t.Errorf("spans %q; requests %v", names, c.paths)
	}
	for _, secret := range []string{sharedToken, narrow, broad} {
		if bytes.Contains(c.raw.Bytes(), []byte(secret)) {
			t.Errorf("a token was exported: %s", secret)
		}
	}
	// The name that the caller made up is on one span, and nowhere else.
	if n := bytes.Count(c.raw.Bytes(), []byte(private)); n != 1 {
		t.Errorf("what was private is exported %d times", n)
	}
}

// Without the option there is nothing to read, whatever the configuration says.
func TestNoTelemetryUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	url := endpoint(t, open(t, "[host.telemetry]\nmetrics = \"prometheus\"\ntraces = true\n[servers.hello]\nplugin = \"hello\"\n"), host.HTTPOptions{})
	if res, _ := exchange(t, "GET", url+"/metrics", ""); res.StatusCode != 404 {
		t.Errorf("/metrics: %s", res.Status)
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
