package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// serveProgram serves a plugin inside the test, over real gRPC, and checks that
// nothing of it is left when the test ends.
func serveProgram[C any](t *testing.T, open func(context.Context, *Env, C) (Server, error)) (adapterpb.AdapterClient, *service) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	p, err := newProgram(Info{Name: "test", Version: "1.0.0"}, open)
	if err != nil {
		t.Fatal(err)
	}
	svc := newService(p, slog.New(slog.DiscardHandler))
	server := grpc.NewServer(svc.serverOptions()...)
	adapterpb.RegisterAdapterServer(server, svc)
	l := bufconn.Listen(1 << 20)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		serving.Wait()
		svc.close()
	})
	return Client(adapterpb.NewAdapterClient(conn)), svc
}

func mustConfigure(t *testing.T, c adapterpb.AdapterClient, config string) *adapterpb.ConfigureResponse {
	t.Helper()
	resp, err := c.Configure(t.Context(), &adapterpb.ConfigureRequest{Server: "s", Config: []byte(config)})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// recvCall returns the events of one call and its failure.
func recvCall(t *testing.T, c adapterpb.AdapterClient, req *adapterpb.CallToolRequest) ([]*adapterpb.CallToolEvent, error) {
	t.Helper()
	stream, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var events []*adapterpb.CallToolEvent
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		} else if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
}

// fake is a Server of one function, which may have every optional method.
type fake struct {
	tools []Tool
	call  func(context.Context, *Call) (*Result, error)
}

func (f *fake) Tools(context.Context) ([]Tool, error) { return f.tools, nil }
func (f *fake) Call(ctx context.Context, c *Call) (*Result, error) {
	return f.call(ctx, c)
}

func opens(s Server) func(context.Context, *Env, struct{}) (Server, error) {
	return func(context.Context, *Env, struct{}) (Server, error) { return s, nil }
}

func TestCallBytesStayBytes(t *testing.T) {
	const args = `{"z":12345678901234567890, "a":1.0,"html":"<>&\u2028"}`
	const meta = `{"traceparent":"00-1"}`
	const result = `{"content":[{"type":"hologram","big":12345678901234567890}], "_x":1.0,"html":"<>&"}`
	c, _ := serveProgram(t, opens(&fake{call: func(_ context.Context, call *Call) (*Result, error) {
		if string(call.Args) != args || string(call.Meta) != meta || call.ID != "id-1" || call.RequestState != "st" || string(call.InputResponses) != `{"q":{}}` {
			return nil, fmt.Errorf("got %+v", call)
		}
		return &Result{JSON: json.RawMessage(result), IsError: true}, nil
	}}))
	mustConfigure(t, c, "")
	events, err := recvCall(t, c, &adapterpb.CallToolRequest{
		Tool: "x", Arguments: []byte(args), Meta: []byte(meta), CallId: "id-1", RequestState: "st", InputResponses: []byte(`{"q":{}}`),
	})
	if err != nil || len(events) != 1 || string(events[0].GetResult().GetResult()) != result || !events[0].GetResult().GetIsError() {
		t.Errorf("%v, %v", events, err)
	}
}

func TestTerminalEvents(t *testing.T) {
	cause := errors.New("cause")
	tests := []struct {
		name   string
		result *Result
		err    error
		want   *failure.Failure // nil: an event
	}{
		{"input required", &Result{Input: &InputRequired{Requests: json.RawMessage(`{"a":{}}`), State: "opaque"}}, nil, nil},
		{"nothing", nil, nil, &failure.Failure{Class: failure.ServerError, Origin: failure.OriginAdapter}},
		{"empty result", &Result{}, nil, &failure.Failure{Class: failure.InvalidResult, Delivery: failure.Answered}},
		{"array", &Result{JSON: json.RawMessage(`[]`)}, nil, &failure.Failure{Class: failure.InvalidResult, Delivery: failure.Answered}},
		{"plain error", nil, cause, &failure.Failure{Class: failure.Unknown}},
		{"canceled inside", nil, context.Canceled, &failure.Failure{Class: failure.ServerError, Origin: failure.OriginAdapter}},
		{"failure", nil, failure.New(failure.Timeout, failure.NotSent, "x: %w", context.Canceled), &failure.Failure{Class: failure.Timeout, Delivery: failure.NotSent}},
	}
	var next atomic.Int32
	c, _ := serveProgram(t, opens(&fake{call: func(context.Context, *Call) (*Result, error) {
		test := tests[next.Load()]
		return test.result, test.err
	}}))
	mustConfigure(t, c, "{}")
	for i, test := range tests {
		next.Store(int32(i))
		events, err := recvCall(t, c, &adapterpb.CallToolRequest{Tool: "x"})
		f := failure.FromStatus(err)
		switch {
		case test.want == nil:
			if err != nil || len(events) != 1 || events[0].GetInputRequired().GetRequestState() != "opaque" {
				t.Errorf("%s: %v, %v", test.name, events, err)
			}
		case f == nil || len(events) != 0 || f.Class != test.want.Class || f.Delivery != test.want.Delivery || f.Origin != test.want.Origin:
			t.Errorf("%s: events %v, %v = %+v; want %+v", test.name, events, err, f, test.want)
		}
	}
}

func TestListIsSortedPagedAndStable(t *testing.T) {
	server := &fake{}
	for i := range 30 {
		name := fmt.Sprintf("t%02d", 29-i)
		server.tools = append(server.tools, Tool{Name: name, Definition: json.RawMessage(`{"name":"` + name + `","description":"` + strings.Repeat("d", 500) + `"}`)})
	}
	server.tools = append(server.tools, Tool{Name: "t05", Definition: json.RawMessage(`{"second":true}`)})
	c, svc := serveProgram(t, opens(server))
	mustConfigure(t, c, "{}")

	whole, err := c.ListTools(t.Context(), &adapterpb.ListToolsRequest{})
	if err != nil || len(whole.Tools) != 30 || whole.NextPageToken != "" {
		t.Fatalf("%d tools, next %q, %v; want 30 in one page", len(whole.GetTools()), whole.GetNextPageToken(), err)
	}
	svc.pageBudget = 2000
	var paged []*adapterpb.Tool
	var pages, stale = 0, ""
	for token := ""; pages == 0 || token != ""; pages++ {
		page, err := c.ListTools(t.Context(), &adapterpb.ListToolsRequest{PageToken: token})
		if err != nil || page.Revision != whole.Revision {
			t.Fatalf("page %d: revision %q, %v", pages, page.GetRevision(), err)
		}
		paged = append(paged, page.Tools...)
		token = page.NextPageToken
		if token != "" {
			stale = token
		}
	}
	if pages < 8 || len(paged) != 30 {
		t.Errorf("%d tools in %d pages", len(paged), pages)
	}
	for i := range paged {
		if want := fmt.Sprintf("t%02d", i); paged[i].Name != want || strings.Contains(string(paged[i].Definition), "second") {
			t.Errorf("tool %d is %s, want the first %s", i, paged[i].Name, want)
		}
	}
	for _, token := range []string{stale, "x", whole.Revision + ".-1", whole.Revision + ".1000", ".0"} {
		if _, err := c.ListTools(t.Context(), &adapterpb.ListToolsRequest{PageToken: token}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("page token %q: %v", token, err)
		}
	}

	server.tools[3].Definition = json.RawMessage(`{"name":"changed"}`)
	again, err := c.ListTools(t.Context(), &adapterpb.ListToolsRequest{})
	if err != nil || again.Revision == whole.Revision {
		t.Errorf("the list changed, the revision did not: %v", err)
	}
	server.tools = []Tool{{Name: "huge", Definition: make([]byte, 4000)}, {Name: "bad\xff", Definition: json.RawMessage(`{}`)}}
	if list, err := c.ListTools(t.Context(), &adapterpb.ListToolsRequest{}); err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "bad\uFFFD" {
		t.Errorf("%v, %v; want the tool that can be carried", list, err)
	}
}

// watching is a fake that is told what to report.
type watching struct {
	fake
	report  chan func(*Events)
	reports chan struct{}
	methods []string
	forward func(*Request) (json.RawMessage, error)
}

func (w *watching) Methods() []string { return w.methods }
func (w *watching) Forward(_ context.Context, r *Request) (json.RawMessage, error) {
	return w.forward(r)
}
func (w *watching) Watch(ctx context.Context, ev *Events) error {
	for {
		select {
		case f := <-w.report:
			if f == nil {
				return errors.New("lost it")
			}
			f(ev)
			w.reports <- struct{}{}
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watching) say(f func(*Events)) {
	w.report <- f
	<-w.reports
}

func TestWatch(t *testing.T) {
	w := &watching{report: make(chan func(*Events)), reports: make(chan struct{}), methods: []string{"prompts/list"}}
	c, _ := serveProgram(t, opens(w))
	if stream, err := c.Watch(t.Context(), &adapterpb.WatchRequest{}); err != nil {
		t.Fatal(err)
	} else if _, err := stream.Recv(); failure.FromStatus(err) == nil {
		t.Errorf("Watch before Configure: %v", err)
	}
	mustConfigure(t, c, "{}")
	w.say(func(ev *Events) { ev.ServerInfo(json.RawMessage(`{"a":1.0}`)) }) // before anybody watches

	ctx, cancel := context.WithCancel(t.Context())
	stream, err := c.Watch(ctx, &adapterpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	next := func() *adapterpb.WatchEvent {
		t.Helper()
		ev, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	first := next().GetSnapshot()
	if first.GetHealth().GetState() != adapterpb.Health_STATE_CONNECTING || string(first.GetServerInfo()) != `{"a":1.0}` || fmt.Sprint(first.GetForwardMethods()) != "[prompts/list]" {
		t.Errorf("snapshot %v", first)
	}
	w.say(func(ev *Events) {
		ev.Health(Ready, nil)
		ev.Health(Degraded, failure.New(failure.RateLimited, failure.Answered, "slow"))
		ev.ToolsChanged("r2")
		ev.Forwarded("notifications/resources/updated", json.RawMessage(`{"uri":"a"}`))
		ev.ForwardMethods([]string{"resources/read"})
	})
	if s := next().GetHealth().GetState(); s != adapterpb.Health_STATE_READY {
		t.Errorf("state %v", s)
	}
	if h := next().GetHealth(); h.GetState() != adapterpb.Health_STATE_DEGRADED || failure.FromProto(h.GetFailure()).Class != failure.RateLimited {
		t.Errorf("health %v", h)
	}
	if r := next().GetToolsChanged().GetRevision(); r != "r2" {
		t.Errorf("revision %q", r)
	}
	if f := next().GetForwardChanged(); f.GetNotification() != "notifications/resources/updated" || string(f.GetParams()) != `{"uri":"a"}` {
		t.Errorf("forwarded %v", f)
	}
	if s := next().GetSnapshot(); s.GetToolsRevision() != "r2" || fmt.Sprint(s.GetForwardMethods()) != "[resources/read]" || s.GetHealth().GetState() != adapterpb.Health_STATE_DEGRADED {
		t.Errorf("second snapshot %v", s)
	}
	cancel()

	// A second stream starts with how things are now, and sees the watcher fail.
	stream, err = c.Watch(t.Context(), &adapterpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if s := next().GetSnapshot(); s.GetToolsRevision() != "r2" {
		t.Errorf("snapshot of a second stream: %v", s)
	}
	w.report <- nil
	if h := next().GetHealth(); h.GetState() != adapterpb.Health_STATE_UNAVAILABLE || h.GetFailure().GetMessage() != "lost it" {
		t.Errorf("health after the watcher ended: %v", h)
	}
}

func TestReadyWithoutWatcher(t *testing.T) {
	c, svc := serveProgram(t, opens(&fake{}))
	mustConfigure(t, c, "{}")
	stream, err := c.Watch(t.Context(), &adapterpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := stream.Recv(); err != nil || ev.GetSnapshot().GetHealth().GetState() != adapterpb.Health_STATE_READY {
		t.Errorf("%v, %v", ev, err)
	}
	svc.close()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("Watch ends with %v when the adapter leaves", err)
	}
}

// A host that does not read gets the state instead of the history.
func TestSlowHostGetsSnapshot(t *testing.T) {
	var ev Events
	w := ev.watch()
	ev.take(w)
	for i := range maxQueued + 10 {
		ev.Health(Ready, nil)
		ev.ToolsChanged(fmt.Sprint(i))
	}
	queue := ev.take(w)
	if len(queue) > maxQueued {
		t.Fatalf("%d events queued", len(queue))
	}
	if queue[0].GetSnapshot() == nil {
		t.Errorf("first of the queue: %v", queue[0])
	}
	if last := queue[len(queue)-1].GetToolsChanged().GetRevision(); last != fmt.Sprint(maxQueued+9) {
		t.Errorf("last revision %q", last)
	}
}

func TestForward(t *testing.T) {
	w := &watching{methods: []string{"resources/read"}, report: make(chan func(*Events)), reports: make(chan struct{})}
	w.forward = func(r *Request) (json.RawMessage, error) {
		r.Progress(1, 2, "half")
		r.Log(slog.LevelWarn, "l", json.RawMessage(`not json`))
		return json.RawMessage(`{"params":` + string(r.Params) + `}`), nil
	}
	c, _ := serveProgram(t, opens(w))
	mustConfigure(t, c, "{}")
	forward := func(method string) (events []*adapterpb.ForwardEvent, err error) {
		stream, err := c.Forward(t.Context(), &adapterpb.ForwardRequest{Method: method, Params: []byte(`{"uri":"x","n":1.0}`)})
		if err != nil {
			t.Fatal(err)
		}
		for {
			ev, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return events, nil
			} else if err != nil {
				return events, err
			}
			events = append(events, ev)
		}
	}
	events, err := forward("resources/read")
	if err != nil || len(events) != 3 || events[0].GetProgress().GetMessage() != "half" ||
		string(events[1].GetLog().GetData()) != `"not json"` || events[1].GetLog().GetLevel() != adapterpb.LogRecord_LEVEL_WARN ||
		string(events[2].GetResult()) != `{"params":{"uri":"x","n":1.0}}` {
		t.Errorf("%v, %v", events, err)
	}
	if _, err := forward("tools/call"); failure.FromStatus(err) == nil || failure.FromStatus(err).Class != failure.NotFound {
		t.Errorf("a method that is not offered: %v", err)
	}
}

func TestForwardIsOptional(t *testing.T) {
	c, _ := serveProgram(t, opens(&fake{}))
	mustConfigure(t, c, "{}")
	stream, err := c.Forward(t.Context(), &adapterpb.ForwardRequest{Method: "resources/read"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, want Unimplemented", err)
	}
}
