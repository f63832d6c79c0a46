package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// Source says whose exchanges are written.
type Source struct {
	Server string
	// ConfigSchema is the plugin's; settings that it marks as secrets are left out.
	ConfigSchema json.RawMessage
	// Clean is what every text goes through first; nil leaves them as they are.
	Clean func(string) string
}

// Client is an adapter's client whose exchanges are written to w. What cannot be
// written changes no call: see Writer.Err.
//
// What the adapter asks of its host is written where the host's service is one of Host.
func Client(w *Writer, from Source, inner adapterpb.AdapterClient) adapterpb.AdapterClient {
	return &client{AdapterClient: inner, w: w, from: from}
}

type client struct {
	adapterpb.AdapterClient
	w    *Writer
	from Source

	mu      sync.Mutex
	running map[string]*exchange // by the id of the call
}

func (c *client) add(began time.Time, e Entry, err error) {
	e.Server, e.MS = c.from.Server, time.Since(began).Milliseconds()
	e.Failure = FailureOf(failureOf(err))
	_ = c.w.Add(e, c.from.Clean)
}

// failureOf is the failure in a status, or what its code says.
func failureOf(err error) *failure.Failure {
	if err == nil {
		return nil
	}
	if f := failure.FromStatus(err); f != nil {
		return f
	}
	st, _ := status.FromError(err)
	f := &failure.Failure{Message: st.Message()}
	switch st.Code() {
	case codes.DeadlineExceeded:
		f.Class = failure.Timeout
	case codes.Canceled:
		f.Class = failure.Canceled
	case codes.Unavailable:
		f.Class = failure.ConnectionRefused
	}
	return f
}

func (c *client) Configure(ctx context.Context, req *adapterpb.ConfigureRequest, opts ...grpc.CallOption) (*adapterpb.ConfigureResponse, error) {
	began := time.Now()
	resp, err := c.AdapterClient.Configure(ctx, req, opts...)
	c.add(began, Entry{Kind: Configure, Config: withoutSecrets(gjson.ParseBytes(c.from.ConfigSchema), gjson.ParseBytes(req.GetConfig())), RestartRequired: resp.GetRestartRequired()}, err)
	return resp, err
}

// redacted stands for a setting that is a secret.
const redacted = `"[redacted]"`

// withoutSecrets is a config with what its schema marks as secrets left out.
func withoutSecrets(schema, config gjson.Result) Raw {
	if schema.Get("x-collet-secret").Type == gjson.True {
		return Raw(redacted)
	}
	properties := schema.Get("properties")
	if !config.IsObject() || !properties.IsObject() {
		return Raw(config.Raw)
	}
	of := properties.Map()
	var o object
	config.ForEach(func(key, value gjson.Result) bool {
		o.b = append(o.b, "{,"[min(len(o.b), 1)])
		o.b = append(append(o.b, key.Raw...), ':')
		o.b = append(o.b, withoutSecrets(of[key.Str], value)...)
		return true
	})
	return o.bytes()
}

func (c *client) ListTools(ctx context.Context, req *adapterpb.ListToolsRequest, opts ...grpc.CallOption) (*adapterpb.ListToolsResponse, error) {
	began := time.Now()
	resp, err := c.AdapterClient.ListTools(ctx, req, opts...)
	e := Entry{Kind: Tools, Page: req.GetPageToken(), Next: resp.GetNextPageToken()}
	for _, t := range resp.GetTools() {
		e.Tools = append(e.Tools, Tool{
			Name: t.GetName(), Definition: t.GetDefinition(), ReadOnly: t.ReadOnly, Idempotent: t.Idempotent,
			AsksConsent: t.GetAsksConsent(), OutputSchema: t.GetOutputSchema(),
		})
	}
	c.add(began, e, err)
	return resp, err
}

func (c *client) Watch(ctx context.Context, req *adapterpb.WatchRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[adapterpb.WatchEvent], error) {
	stream, err := c.AdapterClient.Watch(ctx, req, opts...)
	if err != nil {
		return nil, err
	}
	return &watched{stream, c}, nil
}

// watched keeps the snapshots.
type watched struct {
	grpc.ServerStreamingClient[adapterpb.WatchEvent]
	c *client
}

func (w *watched) Recv() (*adapterpb.WatchEvent, error) {
	ev, err := w.ServerStreamingClient.Recv()
	if s := ev.GetSnapshot(); s != nil {
		w.c.add(time.Now(), Entry{Kind: Snapshot, ServerInfo: s.GetServerInfo(), ForwardMethods: s.GetForwardMethods()}, nil)
	}
	return ev, err
}

func (c *client) CallTool(ctx context.Context, req *adapterpb.CallToolRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[adapterpb.CallToolEvent], error) {
	x := c.begin(req.GetCallId(), Entry{
		Kind: CallTool, Tool: req.GetTool(), Arguments: req.GetArguments(), Meta: req.GetMeta(),
		InputResponses: req.GetInputResponses(), RequestState: req.GetRequestState(),
	})
	stream, err := c.AdapterClient.CallTool(ctx, req, opts...)
	if err != nil {
		x.end(err)
		return nil, err
	}
	return &called{stream, x}, nil
}

func (c *client) Forward(ctx context.Context, req *adapterpb.ForwardRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[adapterpb.ForwardEvent], error) {
	x := c.begin(req.GetCallId(), Entry{Kind: Forward, Method: req.GetMethod(), Params: req.GetParams()})
	stream, err := c.AdapterClient.Forward(ctx, req, opts...)
	if err != nil {
		x.end(err)
		return nil, err
	}
	return &forwarded{stream, x}, nil
}

// exchange is a call while it runs. It is written once, with its end.
type exchange struct {
	c     *client
	id    string
	began time.Time
	once  sync.Once

	mu   sync.Mutex // of what is added while it runs
	e    Entry
	asks []*Ask
}

func (x *exchange) end(err error) {
	if errors.Is(err, io.EOF) {
		err = status.Error(codes.Unknown, "the adapter ended the call without a result")
	}
	x.once.Do(func() { x.c.add(x.began, x.whole(), err) })
}

func (x *exchange) progress(p *adapterpb.Progress) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.e.Events = append(x.e.Events, Event{Done: p.GetDone(), Total: p.GetTotal(), Message: p.GetMessage()})
}

var levels = map[adapterpb.LogRecord_Level]string{
	adapterpb.LogRecord_LEVEL_UNSPECIFIED: "info", adapterpb.LogRecord_LEVEL_DEBUG: "debug", adapterpb.LogRecord_LEVEL_INFO: "info",
	adapterpb.LogRecord_LEVEL_WARN: "warn", adapterpb.LogRecord_LEVEL_ERROR: "error",
}

func (x *exchange) log(r *adapterpb.LogRecord) {
	level := levels[r.GetLevel()]
	if level == "" {
		level = "info"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.e.Events = append(x.e.Events, Event{Level: level, Logger: r.GetLogger(), Data: bytes.Clone(r.GetData())})
}

type called struct {
	grpc.ServerStreamingClient[adapterpb.CallToolEvent]
	x *exchange
}

func (s *called) Recv() (*adapterpb.CallToolEvent, error) {
	ev, err := s.ServerStreamingClient.Recv()
	if err != nil {
		s.x.end(err)
		return nil, err
	}
	switch e := ev.GetEvent().(type) {
	case *adapterpb.CallToolEvent_Progress:
		s.x.progress(e.Progress)
	case *adapterpb.CallToolEvent_Log:
		s.x.log(e.Log)
	case *adapterpb.CallToolEvent_Result:
		s.x.e.Result, s.x.e.IsError = e.Result.GetResult(), e.Result.GetIsError()
		s.x.end(nil)
	case *adapterpb.CallToolEvent_InputRequired:
		s.x.e.Input = &Input{Requests: e.InputRequired.GetRequests(), State: e.InputRequired.GetRequestState()}
		s.x.end(nil)
	}
	return ev, nil
}

type forwarded struct {
	grpc.ServerStreamingClient[adapterpb.ForwardEvent]
	x *exchange
}

func (s *forwarded) Recv() (*adapterpb.ForwardEvent, error) {
	ev, err := s.ServerStreamingClient.Recv()
	if err != nil {
		s.x.end(err)
		return nil, err
	}
	switch e := ev.GetEvent().(type) {
	case *adapterpb.ForwardEvent_Progress:
		s.x.progress(e.Progress)
	case *adapterpb.ForwardEvent_Log:
		s.x.log(e.Log)
	case *adapterpb.ForwardEvent_Result:
		s.x.e.Result = e.Result
		s.x.end(nil)
	}
	return ev, nil
}

// Described writes what a plugin says of itself.
func Described(w *Writer, server string, description any) error {
	raw, err := json.Marshal(description)
	if err != nil {
		return err
	}
	return w.Add(Entry{Kind: Describe, Server: server, Description: raw}, nil)
}
