package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// service answers service Adapter for one program, from the start of the process
// to its end.
type service struct {
	adapterpb.UnimplementedAdapterServer
	program     *program
	log         *slog.Logger
	dial        func(id uint32) (*grpc.ClientConn, error) // through the broker; nil where there is none
	claimOutput func()                                    // before the first author's code; may be nil
	pageBudget  int                                       // bytes of one page of tools
	rest        *rest                                     // told of calls; nil where the process is not ours
	kept        keptResults                               // of streams of calls

	// life ends when the process is to leave.
	life context.Context
	end  context.CancelFunc

	configuring sync.Mutex // one Configure at a time
	running     atomic.Pointer[running]
	watcher     sync.WaitGroup // the author's Watch

	mu      sync.Mutex
	closing bool
	closed  chan struct{} // closed when the author's Close returned or its time was over
	pages   listing       // what page tokens refer to
}

// running is a configured server.
type running struct {
	server Server
	env    *Env
	config json.RawMessage
	events *Events
}

func newService(p *program, log *slog.Logger) *service {
	s := &service{program: p, log: log, pageBudget: pageBudget, closed: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Describe answers from the program alone.
func (s *service) Describe(context.Context, *adapterpb.DescribeRequest) (*adapterpb.DescribeResponse, error) {
	resp, err := s.program.response()
	if err != nil {
		return nil, failure.ToStatus(err)
	}
	return resp, nil
}

// Configure opens the server, or applies new settings to the open one.
func (s *service) Configure(ctx context.Context, req *adapterpb.ConfigureRequest) (*adapterpb.ConfigureResponse, error) {
	if s.claimOutput != nil {
		s.claimOutput()
	}
	s.configuring.Lock()
	defer s.configuring.Unlock()

	// Dialled first and always: the broker forgets an id after 5 s.
	var host *grpc.ClientConn
	if id := req.GetHostService(); id != 0 && s.dial != nil {
		var err error
		if host, err = s.dial(id); err != nil {
			return nil, failure.ToStatus(adapterFault("connect to the host's service %d: %w", id, err))
		}
	}
	resp, err := s.configure(ctx, req, host)
	if err != nil {
		if host != nil && s.running.Load() == nil {
			_ = host.Close()
		}
		return nil, failure.ToStatus(err)
	}
	return resp, nil
}

func (s *service) configure(ctx context.Context, req *adapterpb.ConfigureRequest, host *grpc.ClientConn) (*adapterpb.ConfigureResponse, error) {
	config := json.RawMessage(bytes.TrimSpace(req.GetConfig()))
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	if r := s.running.Load(); r != nil {
		if host != nil {
			r.env.attach(host)
		}
		return s.reconfigure(ctx, r, config)
	}
	if err := s.program.check(config); err != nil {
		return nil, err
	}
	env := &Env{
		Server: req.GetServer(), DataDir: req.GetDataDir(), Log: s.log,
		HostVersion: req.GetHostVersion(), HostFeatures: req.GetHostFeatures(), conn: host,
	}
	env.StartBy, _ = ctx.Deadline()
	server, err := s.open(ctx, env, config)
	if err != nil {
		return nil, err
	}
	r := &running{server: server, env: env, config: config, events: &Events{}}
	if f, ok := server.(Forwarder); ok {
		r.events.methods = slices.Clone(f.Methods())
	}
	w, watches := server.(Watcher)
	if watches {
		r.events.Health(Connecting, nil)
	} else {
		r.events.Health(Ready, nil)
	}

	if !s.start(r) {
		s.closeServer(r)
		return nil, adapterFault("the adapter is leaving")
	}
	if watches {
		s.watcher.Go(func() { s.runWatcher(w, r.events) })
	}
	return &adapterpb.ConfigureResponse{}, nil
}

// start makes r the running server, unless the process is leaving: then close
// has not seen r, and the caller closes it.
func (s *service) start(r *running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.running.Store(r)
	return true
}

// open calls the author's function with a context that outlives the RPC.
func (s *service) open(ctx context.Context, env *Env, config json.RawMessage) (Server, error) {
	life, cancel := context.WithCancel(s.life)
	stop := context.AfterFunc(ctx, cancel)
	var server Server
	err := s.guard("open", func() (err error) {
		server, err = s.program.open(life, env, config)
		return err
	})
	if err == nil && server == nil {
		err = adapterFault("the open function returned neither a server nor an error")
	}
	if err == nil {
		if t, ok := server.(*Tools); ok { // at once, where it is seen
			err = t.addError()
		}
	}
	if !stop() && err == nil { // the host gave up, and life is canceled
		s.closeServer(&running{server: server, env: env})
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return server, nil
}

func (s *service) reconfigure(ctx context.Context, r *running, config json.RawMessage) (*adapterpb.ConfigureResponse, error) {
	if bytes.Equal(config, r.config) {
		return &adapterpb.ConfigureResponse{}, nil
	}
	if err := s.program.check(config); err != nil {
		return nil, err
	}
	re, ok := r.server.(Reconfigurer)
	if !ok {
		return &adapterpb.ConfigureResponse{RestartRequired: true}, nil
	}
	if err := re.Reconfigure(ctx, config); err != nil {
		return nil, err
	}
	r.config = config // guarded by configuring
	return &adapterpb.ConfigureResponse{}, nil
}

func (s *service) runWatcher(w Watcher, ev *Events) {
	err := s.guard("Watch", func() error { return w.Watch(s.life, ev) })
	if err == nil || s.life.Err() != nil {
		return
	}
	s.log.Error("watching the server ended", "error", err)
	ev.Health(Unavailable, failure.Classify(err))
}

// ready returns the configured server, or a status for a host that skipped
// Configure.
func (s *service) ready() (*running, error) {
	if r := s.running.Load(); r != nil {
		return r, nil
	}
	f := failure.New(failure.ServerError, failure.NotSent, "the adapter has not been configured")
	f.Origin = failure.OriginHost
	return nil, failure.ToStatus(f)
}

// close ends what runs and gives the author's Close its time. Every call waits
// for the first one to be done.
func (s *service) close() {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	if !first {
		<-s.closed
		return
	}
	defer close(s.closed)
	s.end()
	if r := s.running.Load(); r != nil {
		s.closeServer(r)
	}
}

// closeServer runs the author's Close and waits for it, and for Watch, at most
// closeGrace; what takes longer ends with the process.
func (s *service) closeServer(r *running) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, ok := r.server.(io.Closer); ok {
			if err := s.guard("Close", c.Close); err != nil {
				s.log.Warn("closing the server failed", "error", err)
			}
		}
		s.watcher.Wait()
	}()
	late := time.NewTimer(closeGrace)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		s.log.Warn("closing the server takes too long, leaving without", "after", closeGrace.String())
	}
	r.env.attach(nil)
}

// text makes s fit for a protobuf string, which must be valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
