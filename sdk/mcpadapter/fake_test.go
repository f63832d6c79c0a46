package mcpadapter

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// fake is an upstream made of functions; nil ones answer an empty object.
type fake struct {
	info   mcp.ServerInfo
	ttl    time.Duration
	hasTTL bool
	tools  func(context.Context) ([]json.RawMessage, error)
	call   func(ctx context.Context, tool string, args json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error)
	other  func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	close  func(context.Context) error

	once sync.Once
	done chan struct{}
	err  error
}

func newFake() *fake { return &fake{done: make(chan struct{})} }

// die ends the connection as a process that exits does.
func (f *fake) die(why error) {
	f.once.Do(func() {
		f.err = why
		close(f.done)
	})
}

func (f *fake) Server() mcp.ServerInfo { return f.info }
func (f *fake) Done() <-chan struct{}  { return f.done }
func (f *fake) Err() error             { return f.err }

func (f *fake) Close(ctx context.Context) error {
	if f.close != nil {
		return f.close(ctx)
	}
	f.die(nil)
	return nil
}

func (f *fake) ReadTools(ctx context.Context) (mcp.ToolList, error) {
	if f.tools == nil {
		return mcp.ToolList{}, nil
	}
	tools, err := f.tools(ctx)
	return mcp.ToolList{Tools: tools, TTL: f.ttl, HasTTL: f.hasTTL}, err
}

func (f *fake) CallTool(ctx context.Context, tool string, args json.RawMessage, opt mcp.RequestOptions) (json.RawMessage, error) {
	if f.call == nil {
		return json.RawMessage("{}"), nil
	}
	return f.call(ctx, tool, args, opt)
}

func (f *fake) Request(ctx context.Context, method string, params json.RawMessage, _ mcp.RequestOptions) (json.RawMessage, error) {
	if f.other == nil {
		return json.RawMessage("{}"), nil
	}
	return f.other(ctx, method, params)
}

// recorder is a host that watches.
type recorder struct {
	watching  chan struct{} // closed by the first report
	once      sync.Once
	mu        sync.Mutex
	states    []adapter.State
	why       *failure.Failure // of the last state
	changes   []string         // revisions
	info      json.RawMessage
	methods   []string
	forwarded []string
}

func (r *recorder) Health(s adapter.State, f *failure.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states, r.why = append(r.states, s), f
	r.once.Do(func() { close(r.watching) })
}

func (r *recorder) ToolsChanged(revision string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, revision)
}

func (r *recorder) ServerInfo(raw json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info = raw
}

func (r *recorder) ForwardMethods(m []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = m
}

func (r *recorder) Forwarded(method string, params json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forwarded = append(r.forwarded, method+string(params))
}

func (r *recorder) wantStates(t *testing.T, want ...adapter.State) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.states, want) {
		t.Errorf("states %v, want %v", r.states, want)
	}
}

func (r *recorder) wantLast(t *testing.T, want adapter.State) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.states); n == 0 || r.states[n-1] != want {
		t.Errorf("states %v, want the last to be %v", r.states, want)
	}
}

func testEnv() *adapter.Env { return &adapter.Env{Server: "n", Log: slog.New(slog.DiscardHandler)} }

// open makes a server whose n-th connection (from 0) comes from connect, and a
// host that watches it. Both end with the test.
func open(t *testing.T, connect func(ctx context.Context, n int) (Upstream, error)) (*server, *recorder) {
	t.Helper()
	return openAs(t, false, connect)
}

// openAs is open for an upstream that is remote, or not.
func openAs(t *testing.T, remote bool, connect func(ctx context.Context, n int) (Upstream, error)) (*server, *recorder) {
	t.Helper()
	n := 0
	r := &recorder{watching: make(chan struct{})}
	s := New(testEnv(), Options{Remote: remote, Connect: func(ctx context.Context, _ *adapter.Env, _ mcp.Options) (Upstream, error) {
		<-r.watching // so that the host sees every state
		n++          // one attempt at a time is what the race detector checks here
		return connect(ctx, n-1)
	}}).(*server)
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { _ = s.news.publish(ctx, r) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s, r
}

func wantFailure(t *testing.T, err error, class failure.Class, delivery failure.Delivery) *failure.Failure {
	t.Helper()
	f, ok := err.(*failure.Failure)
	if !ok {
		t.Fatalf("error %v (%T), want a failure", err, err)
	}
	if f.Class != class || f.Delivery != delivery {
		t.Fatalf("failure %s, %s (%v), want %s, %s", f.Class, f.Delivery, f, class, delivery)
	}
	return f
}
