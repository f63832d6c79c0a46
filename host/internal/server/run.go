package server

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/host/internal/snapshot"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// exitWait is how long a broken connection waits for the exit status that
// explains it. The status follows the closed socket within milliseconds, but a
// machine under load takes its time; a call must fail within a second of a crash.
const exitWait = 750 * time.Millisecond

// lostWait is how long a process may outlive its watch stream before it is
// killed. After a crash the rest of its session is ended first, which can take a
// second.
const lostWait = 2 * time.Second

// process is what a run needs of a *launch.Process.
type process interface {
	Pid() int
	Done() <-chan struct{}
	Exit() launch.Exit
	Tail() []string
	Healthy(context.Context) error
	ServeHost(adapterpb.HostServer) (uint32, error)
	Stop(context.Context) error
	Kill()
}

// run is one adapter process from its start to its exit.
type run struct {
	server *Server
	proc   process
	client adapterpb.AdapterClient
	desc   *describe.Description
	log    *log
	key    *snapshot.Key // of what it says; nil: none of that is kept
	// approval is how its last list stands; of whoever may list.
	approval *approval
	tokens   *credential.Settings // how it gets tokens; nil when it gets none
	stale    time.Time            // when the token that its upstream was started with is about to expire; zero when it has none
	// debugged: a debugger may hold the process for as long as it likes.
	debugged bool

	ctx     context.Context // ends with the process, or before
	cancel  context.CancelFunc
	stay    context.Context // ends when it is to be stopped, calls in flight first
	dismiss context.CancelFunc
	wg      sync.WaitGroup

	upstream chan *adapterpb.Health // the first health that is not "connecting"
	changed  chan struct{}          // the adapter announced other tools; one signal is enough
	listing  chan struct{}          // holds one while a list is read, so that the last one asked for is the one kept
	lost     chan struct{}          // closed once nothing more can be expected of the process
	renewed  chan struct{}          // the server's settings changed; one signal is enough
	over     chan struct{}          // closed when it is gone, and its server knows

	// Of its server's mutex:
	calls int           // in flight
	quiet chan struct{} // closed when there are none, if somebody waits for that

	questions questions // of its calls
	streams   *callStreams
	alive     atomic.Bool // it has been heard of since the last health check

	mu      sync.Mutex
	first   bool // upstream has been told
	health  *adapterpb.Health
	version string
	info    []byte   // what the upstream said of itself
	methods []string // that can be passed on, once met
	met     bool     // there has been a snapshot
	killed  string   // why the host ended the process, if it did
}

func newRun(s *Server, proc process, client adapterpb.AdapterClient, desc *describe.Description, log *log) *run {
	ctx, cancel := context.WithCancel(s.ctx)
	stay, dismiss := context.WithCancel(ctx)
	r := &run{
		server: s, proc: proc, client: client, desc: desc, log: log,
		ctx: ctx, cancel: cancel, stay: stay, dismiss: dismiss,
		upstream: make(chan *adapterpb.Health, 1),
		changed:  make(chan struct{}, 1),
		listing:  make(chan struct{}, 1),
		lost:     make(chan struct{}),
		renewed:  make(chan struct{}, 1),
		over:     make(chan struct{}),
	}
	r.streams = newCallStreams(client, slices.Contains(desc.Features, featureCalls), func() { r.alive.Store(true) }, func(call uint64) {
		s.env.Log.Warn("the adapter sends events of a call that there never was; they are ignored", "server", s.name, "call", call)
	})
	return r
}

// gone reports whether the process has ended.
func (r *run) gone() bool {
	select {
	case <-r.proc.Done():
		return true
	default:
		return false
	}
}

// watch follows what the adapter says about itself, in a goroutine that end
// waits for.
func (r *run) watch() {
	r.wg.Go(func() {
		stream, err := r.client.Watch(r.ctx, &adapterpb.WatchRequest{})
		for err == nil {
			var ev *adapterpb.WatchEvent
			if ev, err = stream.Recv(); err == nil {
				r.note(ev)
			}
		}
		if status.Code(err) == codes.Unimplemented {
			r.setHealth(&adapterpb.Health{State: adapterpb.Health_STATE_READY})
			return
		}
		// The contract makes the end of Watch the end of the adapter. When the
		// process died by itself, this is only the first that is heard of it.
		close(r.lost)
		if r.ctx.Err() != nil || r.awaitExit(lostWait) {
			return
		}
		r.kill("it had ended its watch stream")
	})
}

// ending reports whether the process has ended or is about to.
func (r *run) ending() bool {
	select {
	case <-r.lost:
		return true
	default:
		return r.gone()
	}
}

// awaitExit waits until the process has ended and reports whether it has.
func (r *run) awaitExit(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.proc.Done():
		return true
	case <-timer.C:
		return false
	}
}

func (r *run) note(ev *adapterpb.WatchEvent) {
	switch e := ev.GetEvent().(type) {
	case *adapterpb.WatchEvent_Snapshot:
		info := e.Snapshot.GetServerInfo()
		r.mu.Lock()
		r.version, r.info = version(info), info
		r.methods, r.met = e.Snapshot.GetForwardMethods(), true
		r.mu.Unlock()
		r.introduce()
		r.setHealth(e.Snapshot.GetHealth())
	case *adapterpb.WatchEvent_Health:
		r.setHealth(e.Health)
	case *adapterpb.WatchEvent_ToolsChanged:
		select {
		case r.changed <- struct{}{}:
		default:
		}
	case *adapterpb.WatchEvent_ForwardChanged:
		if notified := r.server.env.Notified; notified != nil {
			notified(r.server.name, e.ForwardChanged.GetNotification(), e.ForwardChanged.GetParams())
		}
	}
}

// introduce publishes what the upstream of a run that serves says of itself now.
func (r *run) introduce() {
	in := r.introduction()
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r {
		s.introduced = in
		s.keepLocked(r)
	}
}

// version is "name version" of an upstream that introduced itself.
func version(info []byte) string {
	impl := gjson.GetBytes(info, "serverInfo")
	if !impl.Exists() {
		impl = gjson.ParseBytes(info)
	}
	v := impl.Get("name").String()
	if n := impl.Get("version").String(); n != "" && v != "" {
		v += " " + n
	}
	return v
}

func (r *run) setHealth(h *adapterpb.Health) {
	r.mu.Lock()
	r.health = h
	settled := h.GetState() > adapterpb.Health_STATE_CONNECTING
	tell := settled && !r.first
	r.first = r.first || settled
	r.mu.Unlock()
	if tell {
		r.upstream <- h
		return
	}
	s := r.server
	s.mu.Lock()
	if s.run == r {
		s.healthLocked(r)
	}
	s.mu.Unlock()
	s.tell()
}

// healthLocked takes over what a run that serves says of its upstream. It is
// starting no more: an adapter that is connecting again is in trouble.
func (s *Server) healthLocked(r *run) {
	r.mu.Lock()
	health := r.health
	r.mu.Unlock()
	if health == nil || health.GetState() == adapterpb.Health_STATE_READY {
		s.onLocked(recovered, nil)
		return
	}
	var why *Failure
	if f := failure.FromProto(health.GetFailure()); f != nil {
		why = s.conceal(&Failure{Failure: *f})
	}
	s.onLocked(troubled, why)
}

// introduced is the "name version" of the upstream, if it said.
func (r *run) introduced() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

// waitUpstream waits until the adapter says that calls can succeed.
func (r *run) waitUpstream(ctx context.Context) *Failure {
	select {
	case h := <-r.upstream:
		if h.GetState() != adapterpb.Health_STATE_UNAVAILABLE {
			return nil
		}
		f := failure.FromProto(h.GetFailure())
		if f == nil {
			f = failure.New(failure.Unknown, failure.NotSent, "the adapter says its upstream is unavailable, and not why")
		}
		return &Failure{Failure: *f, StderrTail: plainLines(r.proc.Tail())}
	case <-r.proc.Done():
		return r.exited(false)
	case <-ctx.Done():
		return waitFailure(ctx, "waiting for the upstream")
	}
}

// exited says that the process is gone, and how. sent tells whether a request
// may have reached the upstream before.
func (r *run) exited(sent bool) *Failure {
	f := r.server.conceal(exited(r.proc.Exit(), sent))
	if !r.gone() {
		f.Message = "the adapter process is ending"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.server.ctx.Err() != nil:
		gone := r.server.gone()
		f.Class, f.Message = gone.Class, gone.Message
	case r.killed != "":
		f.Message += " (" + r.killed + ")"
	}
	return f
}

// ofAdapter is a failure in the adapter's own words, but for secrets.
func (r *run) ofAdapter(f *failure.Failure) *Failure {
	// With a time to come back, a connection that was not even tried is the
	// adapter's own pause after failures, not the upstream's wish.
	held := f.Delivery == failure.NotSent && f.RetryAfter > 0 && f.Class != failure.RateLimited
	return r.server.conceal(&Failure{Failure: *f, Postponed: held})
}

// fail returns what err, the end of an RPC, means. sent tells whether the
// request may have reached the upstream.
func (r *run) fail(ctx context.Context, err error, sent bool) *Failure {
	if f := failure.FromStatus(err); f != nil {
		return r.ofAdapter(f)
	}
	st := status.Convert(err)
	// The adapter knows the caller's deadline too, and may be the first to notice.
	if ctx.Err() != nil || st.Code() == codes.DeadlineExceeded {
		f := waitFailure(ctx, "no answer of the adapter yet")
		if sent {
			f.Delivery = failure.DeliveryUnknown
		}
		return f
	}
	// Without a detail it is the process or the connection that failed, and only
	// the exit status can say why: gRPC's own text varies from run to run.
	if st.Code() != codes.ResourceExhausted && r.awaitExit(exitWait) {
		return r.exited(sent)
	}
	f := &Failure{Failure: failure.Failure{Class: failure.Unknown, Origin: failure.OriginAdapter, Message: "the adapter broke the call off: " + st.Message()}}
	switch st.Code() {
	case codes.Unavailable:
		f.Class = failure.ConnectionRefused
	case codes.ResourceExhausted:
		f.Class, f.Message = failure.InvalidResult, "a message to or from the adapter is over the limit of 65 MiB: "+st.Message()
	case codes.Unimplemented:
		f.Message = "the adapter does not implement a required part of the contract: " + st.Message()
	}
	if !sent {
		f.Delivery = failure.NotSent
	}
	return r.server.conceal(f)
}
