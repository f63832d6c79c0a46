package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/typed"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

const (
	// envelope is room in a message for everything but the one large field.
	envelope = 64 << 10
	// pageBudget bounds one page of tools, in bytes.
	pageBudget = wire.MaxMessage - envelope
	// maxResult bounds one result, in bytes.
	maxResult = wire.MaxMessage - envelope
)

// listing is a list of tools that is being read page by page.
type listing struct {
	revision string
	tools    []*adapterpb.Tool
}

// ListTools returns the tools sorted by name, in one page unless they do not fit
// into one message. A page token is good for the newest listing only.
func (s *service) ListTools(ctx context.Context, req *adapterpb.ListToolsRequest) (*adapterpb.ListToolsResponse, error) {
	r, err := s.ready()
	if err != nil {
		return nil, err
	}
	if token := req.GetPageToken(); token != "" {
		return s.nextPage(token)
	}
	tools, err := r.server.Tools(ctx)
	if err != nil {
		return nil, failure.ToStatus(meant(ctx, err))
	}
	l := s.list(tools)
	r.events.listed(l.revision)
	return s.page(l, 0), nil
}

// list sorts tools by name, drops the later ones of equal name, and computes the
// revision.
func (s *service) list(tools []Tool) listing {
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	hash := sha256.New()
	l := listing{tools: make([]*adapterpb.Tool, 0, len(tools))}
	for i, t := range tools {
		if i > 0 && t.Name == tools[i-1].Name {
			s.log.Warn("two tools have one name, keeping the first", "tool", t.Name)
			continue
		}
		p := &adapterpb.Tool{
			Name: text(t.Name), Definition: t.Definition, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent,
			AsksConsent: t.AsksConsent, OutputSchema: t.OutputSchema,
		}
		if proto.Size(p) > s.pageBudget {
			s.log.Error("a tool is too large for one message, leaving it out", "tool", t.Name, "bytes", proto.Size(p), "limit", s.pageBudget)
			continue
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil {
			s.log.Error("a tool cannot be encoded, leaving it out", "tool", t.Name, "error", err)
			continue
		}
		size := strconv.Itoa(len(raw))
		hash.Write([]byte(size + ":")) // so that two lists cannot run together alike
		hash.Write(raw)
		l.tools = append(l.tools, p)
	}
	l.revision = hex.EncodeToString(hash.Sum(nil))
	return l
}

// page returns the tools from index start on that fit into one message, and
// keeps the listing while there are more.
func (s *service) page(l listing, start int) *adapterpb.ListToolsResponse {
	const perTool = 8 // tag and length of one element
	size, end := 0, start
	for end < len(l.tools) {
		size += proto.Size(l.tools[end]) + perTool
		if size > s.pageBudget+perTool {
			break
		}
		end++
	}
	resp := &adapterpb.ListToolsResponse{Tools: l.tools[start:end], Revision: l.revision}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end < len(l.tools) {
		s.pages = l
		resp.NextPageToken = l.revision + "." + strconv.Itoa(end)
	} else if s.pages.revision == l.revision {
		s.pages = listing{}
	}
	return resp
}

func (s *service) nextPage(token string) (*adapterpb.ListToolsResponse, error) {
	revision, index, _ := strings.Cut(token, ".")
	start, err := strconv.Atoi(index)
	s.mu.Lock()
	l := s.pages
	s.mu.Unlock()
	if err != nil || revision != l.revision || start < 0 || start >= len(l.tools) {
		f := failure.New(failure.InvalidArguments, failure.NotSent, "the page token is not of the newest listing: list again from the start")
		f.Origin = failure.OriginHost
		return nil, failure.ToStatus(f)
	}
	return s.page(l, start), nil
}

// CallTool runs one tool: events, then exactly one result, input_required or
// status.
func (s *service) CallTool(req *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) error {
	r, err := s.ready()
	if err != nil {
		return err
	}
	s.rest.begin()
	defer s.rest.end()
	result, err := s.invoke(stream.Context(), r, req, func(p *adapterpb.Progress, l *adapterpb.LogRecord) error {
		if p != nil {
			return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Progress{Progress: p}})
		}
		return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Log{Log: l}})
	})
	if err != nil {
		return failure.ToStatus(meant(stream.Context(), err))
	}
	ev, err := terminal(result)
	if err != nil {
		return failure.ToStatus(err)
	}
	return stream.Send(ev)
}

// invoke runs the tool of a request, whose events go to send.
func (s *service) invoke(ctx context.Context, r *running, req *adapterpb.CallToolRequest, send func(*adapterpb.Progress, *adapterpb.LogRecord) error) (*Result, error) {
	call := &Call{
		Tool: req.GetTool(), ID: req.GetCallId(), Args: object(req.GetArguments()), Meta: req.GetMeta(),
		InputResponses: req.GetInputResponses(), RequestState: req.GetRequestState(), env: r.env,
	}
	call.events = &emitter{send: send}
	if !typed.IsObject(call.Args) {
		return nil, notAnObject()
	}
	return s.call(ctx, r.server, call)
}

// call runs the author's function. The stream is this goroutine's alone again
// when it returns, a panic included.
func (s *service) call(ctx context.Context, server Server, call *Call) (*Result, error) {
	defer call.events.finish()
	return server.Call(ctx, call)
}

// terminal is the last event of a call.
func terminal(r *Result) (*adapterpb.CallToolEvent, error) {
	switch {
	case r == nil:
		return nil, adapterFault("the tool returned neither a result nor an error")
	case r.Input != nil:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_InputRequired{
			InputRequired: &adapterpb.InputRequired{Requests: r.Input.Requests, RequestState: text(r.Input.State)},
		}}, nil
	}
	if err := fits(r.JSON); err != nil {
		return nil, err
	}
	return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{
		Result: &adapterpb.CallToolResult{Result: r.JSON, IsError: r.IsError},
	}}, nil
}

// fits refuses a result that no message can carry, or that is no object. The
// upstream has acted by then, so the delivery is Answered.
func fits(raw json.RawMessage) error {
	if len(raw) > maxResult {
		return failure.New(failure.InvalidResult, failure.Answered, "the result has %d bytes, at most %d can be carried", len(raw), maxResult)
	}
	if !typed.IsObject(raw) {
		return failure.New(failure.InvalidResult, failure.Answered, "the result is not a JSON object")
	}
	return nil
}

// Forward passes on one MCP request.
func (s *service) Forward(req *adapterpb.ForwardRequest, stream grpc.ServerStreamingServer[adapterpb.ForwardEvent]) error {
	r, err := s.ready()
	if err != nil {
		return err
	}
	f, ok := r.server.(Forwarder)
	if !ok {
		return status.Error(codes.Unimplemented, "this server forwards nothing")
	}
	method := req.GetMethod()
	if !r.events.offers(method) && !slices.Contains(f.Methods(), method) {
		return failure.ToStatus(failure.New(failure.NotFound, failure.NotSent, "the server does not offer %s", method))
	}
	s.rest.begin()
	defer s.rest.end()
	fwd := &Request{Method: method, ID: req.GetCallId(), Params: req.GetParams(), env: r.env}
	fwd.events = &emitter{send: func(p *adapterpb.Progress, l *adapterpb.LogRecord) error {
		if p != nil {
			return stream.Send(&adapterpb.ForwardEvent{Event: &adapterpb.ForwardEvent_Progress{Progress: p}})
		}
		return stream.Send(&adapterpb.ForwardEvent{Event: &adapterpb.ForwardEvent_Log{Log: l}})
	}}
	raw, err := func() (json.RawMessage, error) {
		defer fwd.events.finish()
		return f.Forward(stream.Context(), fwd)
	}()
	if err == nil {
		err = fits(raw)
	}
	if err != nil {
		return failure.ToStatus(meant(stream.Context(), err))
	}
	return stream.Send(&adapterpb.ForwardEvent{Event: &adapterpb.ForwardEvent_Result{Result: raw}})
}

// Watch sends the snapshot, then what changes, until the process leaves.
func (s *service) Watch(_ *adapterpb.WatchRequest, stream grpc.ServerStreamingServer[adapterpb.WatchEvent]) error {
	r, err := s.ready()
	if err != nil {
		return err
	}
	w := r.events.watch()
	defer r.events.unwatch(w)
	for {
		select {
		case <-w.wake:
		case <-stream.Context().Done():
			return nil
		case <-s.life.Done():
			return nil
		}
		for _, ev := range r.events.take(w) {
			if err := stream.Send(ev); err != nil {
				return err
			}
		}
	}
}

// meant is what an author's error means for the caller. A context that ended
// inside the adapter, while the caller still waits, is the adapter's failure: the
// caller did not cancel anything.
func meant(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, context.Canceled) {
		return err
	}
	if f, ok := errors.AsType[*failure.Failure](err); ok && f.Class != failure.Canceled {
		return f
	}
	return adapterFault("the adapter gave up by itself: %w", err)
}

// object is raw, or the empty object when there is nothing.
func object(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

func notAnObject() *failure.Failure {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "the arguments are not a JSON object")
	f.Problems = []failure.Problem{{Rule: "type", Message: "must be object"}}
	return f
}
