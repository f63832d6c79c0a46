package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// proper is an adapter that keeps every rule of the contract but those that its modes
// break, one each. Its upstream is any HTTP server.
type proper struct {
	adapterpb.UnimplementedAdapterServer
	modes     faults
	config    atomic.Pointer[properConfig]
	lists     atomic.Int64
	underWay  atomic.Int64
	kept      kept
	transport http.Client
}

type properConfig struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

const properSchema = `{"type":"object","properties":{"url":{"type":"string"},"token":{"type":"string","x-collet-secret":true}},"additionalProperties":false}`

// description is what both describe and the RPC say.
func (p *proper) description() *describe.Description {
	d := &describe.Description{
		Name: "test", Version: "1.2.3", SDKVersion: "devel", Summary: "Keeps the contract.", ConfigSchema: json.RawMessage(properSchema),
		Features: []string{"reconfigure"}, Environment: []string{"FAULT"}, DefaultTimeout: time.Minute,
	}
	if p.modes.has("calls") {
		d.Features = append(d.Features, "calls")
	}
	switch {
	case p.modes.has("oddname"):
		d.Name = "Test Plugin"
	case p.modes.has("oddversion"):
		d.Version = "v1"
	case p.modes.has("oddfeature"):
		d.Features = []string{"recofnigure"}
	case p.modes.has("arrayschema"):
		d.ConfigSchema = json.RawMessage(`{"type":"array"}`)
	case p.modes.has("unmarked"):
		d.ConfigSchema = json.RawMessage(`{"type":"object","properties":{"api_token":{"type":"string"}}}`)
	case p.modes.has("badschema"):
		d.ConfigSchema = json.RawMessage(`{"type":"objekt"}`)
	case p.modes.has("noschema"):
		d.ConfigSchema = nil
	}
	return d
}

// describeProper is the sub-command.
func describeProper(modes faults) {
	p := &proper{modes: modes}
	d := p.description()
	if modes.has("describelies") {
		d.Version = "9.9.9"
	}
	if modes.has("describeasks") {
		if resp, err := http.Get("http://collet-test.invalid/"); err == nil {
			resp.Body.Close()
		}
	}
	out, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
}

// properStart are the modes of proper that act at start.
func properStart(modes faults) {
	if os.Getenv(wire.CookieKey) == "" {
		switch {
		case modes.has("nocookie"):
			os.Exit(0)
		case modes.has("mute"):
			os.Exit(1)
		case modes.has("stays"):
			time.Sleep(forever)
		}
	}
	if name, ok := modes.get("needs"); ok && os.Getenv(name) == "" {
		fmt.Fprintln(os.Stderr, "there is no", name)
		os.Exit(4)
	}
	if modes.has("exclusive") {
		alone()
	}
	if modes.has("watchdog") {
		go watchdog()
	}
	if modes.has("leaveschild") && os.Getenv(wire.CookieKey) != "" {
		grandchild("escape")
	}
}

// alone ends the process when there is another one.
func alone() {
	path := filepath.Join(os.TempDir(), "alone")
	l, err := net.Listen("unix", path)
	if err != nil {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			fmt.Fprintln(os.Stderr, "another one runs")
			os.Exit(3)
		}
		_ = os.Remove(path) // of one that was killed
		if l, err = net.Listen("unix", path); err != nil {
			panic(err)
		}
	}
	go func() {
		for {
			if conn, err := l.Accept(); err == nil {
				conn.Close()
			}
		}
	}()
}

// watchdog takes a pause for the end of the world.
func watchdog() {
	const beat, late = 20 * time.Millisecond, 400 * time.Millisecond
	for last := time.Now(); ; last = time.Now() {
		time.Sleep(beat)
		if time.Since(last) > late {
			fmt.Fprintln(realStderr, "time stood still")
			os.Exit(5)
		}
	}
}

func (p *proper) Describe(_ context.Context, req *adapterpb.DescribeRequest) (*adapterpb.DescribeResponse, error) {
	d := p.description()
	resp := &adapterpb.DescribeResponse{
		Name: d.Name, Version: d.Version, SdkVersion: d.SDKVersion, Summary: d.Summary, ConfigSchema: d.ConfigSchema,
		Features: d.Features, Environment: d.Environment, DefaultTimeout: durationpb.New(d.DefaultTimeout),
	}
	return resp, p.strict(req.ProtoReflect().GetUnknown())
}

// strict refuses what it does not know.
func (p *proper) strict(unknown []byte) error {
	if p.modes.has("strict") && len(unknown) > 0 {
		return status.Error(codes.InvalidArgument, "unknown field")
	}
	return nil
}

func (p *proper) Configure(ctx context.Context, req *adapterpb.ConfigureRequest) (*adapterpb.ConfigureResponse, error) {
	if p.modes.has("configurehang") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if p.modes.has("chatty") {
		fmt.Fprintln(realStdout, "configured!")
	}
	if p.modes.has("tells") {
		fmt.Fprintf(realStderr, "config: %s\n", req.GetConfig())
	}
	cfg := &properConfig{}
	if err := json.Unmarshal(req.GetConfig(), cfg); err != nil && !p.modes.has("anyconfig") {
		if p.modes.has("dieswrong") {
			os.Exit(6)
		}
		return nil, p.badConfig(err)
	}
	p.config.Store(cfg)
	return &adapterpb.ConfigureResponse{}, p.strict(req.ProtoReflect().GetUnknown())
}

func (p *proper) badConfig(err error) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "bad config: %v", err)
	var field *json.UnmarshalTypeError
	if errors.As(err, &field) && !p.modes.has("noproblems") {
		f.Problems = []failure.Problem{{Path: "/" + field.Field, Rule: "type", Message: "is a " + field.Value}}
	}
	return failure.ToStatus(f)
}

func (p *proper) Watch(_ *adapterpb.WatchRequest, stream grpc.ServerStreamingServer[adapterpb.WatchEvent]) error {
	health := &adapterpb.Health{State: adapterpb.Health_STATE_READY}
	first := &adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_Snapshot{Snapshot: &adapterpb.Snapshot{Health: health, ToolsRevision: "1"}}}
	if p.modes.has("nosnapshot") {
		first = &adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_Health{Health: health}}
	}
	if p.modes.has("watchsilent") {
		first = nil
	}
	if first != nil {
		if err := stream.Send(first); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

// properTools are in the order in which they are listed.
var properTools = []struct{ name, definition string }{
	{"echo", `{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`},
	{"fetch", `{"name":"fetch","inputSchema":{"type":"object"}}`},
	{"large", `{"name":"large","inputSchema":{"type":"object"}}`},
}

func (p *proper) ListTools(_ context.Context, req *adapterpb.ListToolsRequest) (*adapterpb.ListToolsResponse, error) {
	resp := &adapterpb.ListToolsResponse{Revision: "1"}
	readOnly := true
	for _, t := range properTools {
		resp.Tools = append(resp.Tools, &adapterpb.Tool{Name: t.name, Definition: []byte(t.definition), ReadOnly: &readOnly})
	}
	odd := p.lists.Add(1)%2 == 1
	switch echo := resp.Tools[0]; {
	case p.modes.has("changing") && odd:
		echo.Definition = append(echo.Definition, ' ')
	case p.modes.has("unsorted"):
		resp.Tools[0], resp.Tools[1] = resp.Tools[1], echo
	case p.modes.has("misnamed"):
		echo.Definition = []byte(`{"name":"other","inputSchema":{}}`)
	case p.modes.has("badpattern"):
		echo.Definition = []byte(`{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string","pattern":"(?=x)"}}}}`)
	case p.modes.has("endless"):
		resp.NextPageToken = "on"
	}
	return resp, p.strict(req.ProtoReflect().GetUnknown())
}

func (p *proper) CallTool(req *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) error {
	if p.underWay.Add(1) > 1 && p.modes.has("onecall") {
		fmt.Fprintln(realStderr, "fatal error: concurrent map writes")
		os.Exit(2)
	}
	defer p.underWay.Add(-1)
	if err := p.strict(req.ProtoReflect().GetUnknown()); err != nil {
		return err
	}
	var args struct {
		Text *string `json:"text"`
	}
	err := json.Unmarshal(req.GetArguments(), &args)
	known := req.GetTool() == "echo" || req.GetTool() == "fetch" || req.GetTool() == "large"
	switch name := req.GetTool(); {
	case p.modes.has("anything"):
	case !known && p.modes.has("diesunknown"):
		os.Exit(7)
	case !known:
		return failure.ToStatus(failure.New(failure.NotFound, failure.NotSent, "no tool %q", name))
	case err != nil || name == "echo" && args.Text == nil:
		if p.modes.has("bare") {
			return status.Error(codes.Internal, "nil pointer")
		}
		return failure.ToStatus(failure.New(failure.InvalidArguments, failure.NotSent, "text is no string"))
	}
	text := ""
	if args.Text != nil {
		text = *args.Text
	}
	if req.GetTool() == "fetch" {
		if text, err = p.fetch(stream.Context()); err != nil {
			for mode, answer := range unavailable {
				if p.modes.has(mode) {
					return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: []byte(answer)}}})
				}
			}
			return err
		}
	}
	if req.GetTool() == "large" {
		text = strings.Repeat("l", 33<<20)
	}
	return p.end(stream, text)
}

// unavailable are answers in place of a failure of fetch, by their modes.
var unavailable = map[string]string{
	"unavailable":     `{"content":[],"structuredContent":{"available":false,"reason":"the upstream cannot be asked"}}`,
	"unavailablemute": `{"content":[{"type":"text","text":"sorry"}],"structuredContent":{"available":false}}`,
}

// end sends what a call ends with.
func (p *proper) end(stream grpc.ServerStreamingServer[adapterpb.CallToolEvent], text string) error {
	quoted, _ := json.Marshal(text)
	result := &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, quoted)}}}
	events := []*adapterpb.CallToolEvent{progress(1), progress(2), result}
	switch {
	case p.modes.has("noresult"):
		events = events[:2]
	case p.modes.has("tworesults"):
		events = append(events, result)
	case p.modes.has("goeson"):
		events = append(events, progress(3))
	case p.modes.has("falls"):
		events[0], events[1] = events[1], events[0]
	case p.modes.has("nojson"):
		result.GetResult().Result = []byte(text)
	}
	for _, ev := range events {
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

// fetch asks the upstream, and words what goes wrong as the contract wants it.
func (p *proper) fetch(ctx context.Context) (string, error) {
	if p.modes.has("ignorescancel") {
		ctx = context.WithoutCancel(ctx)
	}
	cfg := p.config.Load()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.URL, nil)
	if err != nil {
		return "", failure.ToStatus(err)
	}
	req.Header.Set("Authorization", "Bearer "+cfg.Token)
	resp, err := p.transport.Do(req)
	if err != nil {
		if p.modes.has("diescanceled") && ctx.Err() != nil {
			os.Exit(8)
		}
		return "", p.fault(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", p.fault(failure.New(failure.InvalidResult, failure.DeliveryUnknown, "half an answer: %v", err))
	}
	class := failure.ServerError
	switch resp.StatusCode {
	case http.StatusOK:
		return string(body), nil
	case http.StatusUnauthorized:
		class = failure.AuthFailure
	case http.StatusUnprocessableEntity:
		class = failure.InvalidArguments
	case http.StatusTooManyRequests:
		class = failure.RateLimited
	}
	f := failure.New(class, failure.Answered, "the upstream answered %s", resp.Status)
	if p.modes.has("tellsfailure") {
		f.Message += " to " + cfg.Token
	}
	f.Challenge = resp.Header.Get("WWW-Authenticate")
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && !p.modes.has("noretryafter") {
		f.RetryAfter = time.Duration(s) * time.Second
	}
	return "", p.fault(f)
}

func (p *proper) fault(err error) error {
	f := *failure.Classify(err)
	if p.modes.has("unclassified") {
		f.Class = failure.Unknown
	}
	if p.modes.has("barefault") {
		return status.Error(codes.Unavailable, f.Message)
	}
	return failure.ToStatus(&f)
}
