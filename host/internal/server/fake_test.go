package server

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// fakeProcess is a process without a process, for tests in which time is not
// real. It answers health checks until it ends.
type fakeProcess struct {
	adapterpb.AdapterClient // nil: what is not below is not called

	done  chan struct{}
	once  sync.Once
	exit  launch.Exit
	stuck time.Duration               // how long Stop takes
	lists func(context.Context) error // before the tools are listed again
}

// ListTools is asked after the start only: the first list is the start's.
func (p *fakeProcess) ListTools(ctx context.Context, _ *adapterpb.ListToolsRequest, _ ...grpc.CallOption) (*adapterpb.ListToolsResponse, error) {
	if err := p.lists(ctx); err != nil {
		return nil, err
	}
	return &adapterpb.ListToolsResponse{Tools: []*adapterpb.Tool{{Name: "other", Definition: []byte(`{"name":"other"}`)}}}, nil
}

func newFakeProcess() *fakeProcess { return &fakeProcess{done: make(chan struct{})} }

func (p *fakeProcess) end(e launch.Exit) {
	p.once.Do(func() {
		p.exit = e
		close(p.done)
	})
}

// crash ends the process by itself.
func (p *fakeProcess) crash() { p.end(launch.Exit{Reason: "exit status 0"}) }

func (p *fakeProcess) Pid() int                      { return 4711 }
func (p *fakeProcess) Done() <-chan struct{}         { return p.done }
func (p *fakeProcess) Tail() []string                { return nil }
func (p *fakeProcess) Healthy(context.Context) error { return nil }
func (p *fakeProcess) ServeHost(adapterpb.HostServer) (uint32, error) {
	return 0, nil
}
func (p *fakeProcess) Kill() { p.end(launch.Exit{Reason: "signal: killed", Requested: true}) }

func (p *fakeProcess) Exit() launch.Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return launch.Exit{}
	}
}

func (p *fakeProcess) Stop(context.Context) error {
	time.Sleep(p.stuck)
	p.end(launch.Exit{Reason: "exit status 0", Requested: true})
	return nil
}

// CallTool is a call that is answered when its arguments say so: "answer" after
// 3 s, "hang" never.
func (p *fakeProcess) CallTool(ctx context.Context, req *adapterpb.CallToolRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[adapterpb.CallToolEvent], error) {
	return &fakeStream{ctx: ctx, p: p, what: string(req.GetArguments())}, nil
}

type fakeStream struct {
	ctx  context.Context
	p    *fakeProcess
	what string
}

func (s *fakeStream) Recv() (*adapterpb.CallToolEvent, error) {
	var answer <-chan time.Time
	if s.what == "answer" {
		answer = time.After(3 * time.Second)
	}
	select {
	case <-answer:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: []byte(`{}`)}}}, nil
	case <-s.p.done:
		return nil, context.Canceled
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *fakeStream) Header() (metadata.MD, error) { return nil, nil }
func (s *fakeStream) Trailer() metadata.MD         { return nil }
func (s *fakeStream) CloseSend() error             { return nil }
func (s *fakeStream) Context() context.Context     { return s.ctx }
func (s *fakeStream) SendMsg(any) error            { return nil }
func (s *fakeStream) RecvMsg(any) error            { return nil }

// supervised is a server whose process is a fake one.
type supervised struct {
	*Server
	st *states

	mu       sync.Mutex
	launched []*config.Server // the settings of each start
	times    []time.Duration  // when each began, since the test did
	running  *fakeProcess     // the newest
	most     int              // processes that were there at once
	now      int

	took  time.Duration // a start takes
	fail  func() *Failure
	stuck time.Duration // and a stop
	tools []string
	input map[string]string // schemas by tool
}

// supervise makes one in the bubble of a synctest. It is closed with the test.
func supervise(t *testing.T, set *config.Server) *supervised {
	t.Helper()
	set.Name = "s"
	v := &supervised{st: &states{tell: make(chan State, 10_000)}, took: time.Second, tools: []string{"echo"}}
	begun := time.Now()
	v.Server = New(set, Surroundings{Log: slog.New(slog.DiscardHandler), LogDir: t.TempDir(), Changed: v.st.changed})
	v.launch = func(ctx context.Context, set *config.Server) (*run, []*catalog.Tool, *Failure) {
		v.mu.Lock()
		v.launched = append(v.launched, set)
		v.times = append(v.times, time.Since(begun))
		v.mu.Unlock()
		select {
		case <-time.After(v.took):
		case <-ctx.Done():
			return nil, nil, notSent(failure.Canceled, "canceled while starting")
		}
		if v.fail != nil {
			if f := v.fail(); f != nil {
				return nil, nil, f
			}
		}
		return v.up(), v.offers(), nil
	}
	t.Cleanup(func() {
		if err := v.Close(context.Background()); err != nil {
			t.Error("close:", err)
		}
		if len(v.st.odd) > 0 {
			t.Errorf("told of %v", v.st.odd)
		}
		if v.most > 1 {
			t.Errorf("%d processes at once", v.most)
		}
	})
	return v
}

// up is a new process.
func (v *supervised) up() *run {
	p := newFakeProcess()
	v.mu.Lock()
	p.stuck, v.running = v.stuck, p
	v.now++
	v.most = max(v.most, v.now)
	v.mu.Unlock()
	go func() {
		<-p.done
		v.mu.Lock()
		defer v.mu.Unlock()
		v.now--
	}()
	r := newRun(v.Server, p, p, &describe.Description{}, &log{})
	if v.env.Snapshots != nil {
		if path, err := v.pluginFile(context.Background(), v.Settings()); err == nil {
			r.key = v.key(v.Settings(), path)
		}
	}
	return r
}

func (v *supervised) offers() (tools []*catalog.Tool) {
	for _, n := range v.tools {
		tools = append(tools, catalog.New("s", catalog.Offer{Name: n, Definition: []byte(`{"name":"` + n + `","inputSchema":` + cmp.Or(v.input[n], "null") + `}`)}))
	}
	return tools
}

// crash ends the newest process by itself and waits until that has been noticed.
func (v *supervised) crash() {
	v.running.crash()
	synctest.Wait()
}

func (v *supervised) starts() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.launched)
}

func (v *supervised) must(t *testing.T) {
	t.Helper()
	if err := v.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (v *supervised) call(arguments string) error {
	_, err := v.Do(context.Background(), &Request{Tool: &catalog.Tool{Name: "echo"}, Arguments: []byte(arguments)})
	return err
}
