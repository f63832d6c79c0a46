// Package server owns ONE configured server: its adapter process from look-up
// to stop, its state, the list of its tools, and the calls made to it. It knows
// no other server, and nothing about exposure, validation or retries.
package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/sdk/failure"
)

// Surroundings are what all servers of a host share.
type Surroundings struct {
	Plugins   plugins.Finder
	Describer *plugins.Describer
	Resolver  config.Resolver
	Environ   []string // the host's environment, KEY=VALUE
	LogDir    string   // one file per server in it
	Log       *slog.Logger
	Version   string // the host's, told to adapters
	// HealthEvery is how often a running adapter is asked for a sign of life.
	// Default 15 s.
	HealthEvery time.Duration

	// Changed is told of every change of state, Listed of every new list of
	// tools. Both are called without locks held and must not block.
	Changed func(name string, s Status)
	Listed  func(name string)
}

// State is where a server is in its life.
type State string

// The states. A server that failed or stopped starts again when something needs
// it.
const (
	Idle     State = "idle"     // never started, or stopped for lack of use
	Starting State = "starting" // spawn to first list of tools
	Ready    State = "ready"
	Degraded State = "degraded" // the adapter runs but says its upstream is in trouble
	Failed   State = "failed"   // the last start failed, or the process ended
	Stopped  State = "stopped"  // closed for good
)

// Status is a server's state at one moment.
type Status struct {
	State   State
	Failure *Failure // why, when degraded or failed
	Pid     int      // of the adapter process; 0 when none runs
	Version string   // the upstream's "name version", when it said
}

// Limits are the times that apply to a server's calls, defaults filled in.
type Limits struct {
	Timeout    time.Duration // one attempt; progress restarts it
	MaxTimeout time.Duration // attempts, waits and progress together
}

// The defaults where neither mcp.toml nor the plugin says otherwise. Starting
// may mean that a package runner is still downloading, so it gets longer.
const (
	defaultTimeout      = 30 * time.Second
	defaultStartTimeout = 60 * time.Second
	maxTimeoutFactor    = 10
	maxTimeoutCap       = time.Hour
)

// Server is one configured server. Its methods are safe for concurrent use.
type Server struct {
	set    *config.Server
	env    Surroundings
	ctx    context.Context // ends when the server is closed
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	status Status
	run    *run   // the live process; nil unless ready or degraded
	start  *start // the start in flight, shared by all who wait for it
	tools  []*catalog.Tool
	listed bool // tools is what the server said, if only in an earlier run
	limits Limits
	news   []Status // changes that Changed has not been told of yet

	telling sync.Mutex // held while Changed is called, so that changes arrive in order
}

// start is one attempt to bring the server up.
type start struct {
	done   chan struct{}
	fail   *Failure // valid once done is closed
	before *run     // on its way out; nil when none
}

// New returns a server that starts when something needs it.
func New(set *config.Server, env Surroundings) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{set: set, env: env, ctx: ctx, cancel: cancel, status: Status{State: Idle}}
	s.limits = limits(set, 0)
	return s
}

// limits fills in what mcp.toml leaves open; own is the plugin's default
// timeout, zero when it has none.
func limits(set *config.Server, own time.Duration) Limits {
	l := Limits{Timeout: set.Timeout, MaxTimeout: set.MaxTimeout}
	if l.Timeout == 0 {
		l.Timeout = own
	}
	if l.Timeout == 0 {
		l.Timeout = defaultTimeout
	}
	if l.MaxTimeout == 0 {
		l.MaxTimeout = min(maxTimeoutFactor*l.Timeout, maxTimeoutCap)
	}
	l.MaxTimeout = max(l.MaxTimeout, l.Timeout)
	return l
}

// Name is the server's name in mcp.toml.
func (s *Server) Name() string { return s.set.Name }

// Settings are the server's entry in mcp.toml. The caller does not change them.
func (s *Server) Settings() *config.Server { return s.set }

// LogFile is where the adapter's stderr goes: a file for each name and mcp.toml,
// since two configurations may use a name for different servers.
func (s *Server) LogFile() string {
	from := sha256.Sum256([]byte(filepath.Join(s.set.Dir, filepath.Base(s.set.File))))
	return filepath.Join(s.env.LogDir, fmt.Sprintf("%s-%x.log", s.set.Name, from[:4]))
}

// Status is how the server is now.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Limits are the server's times. Before the plugin was described for the first
// time, its own defaults are not in them.
func (s *Server) Limits() Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits
}

// Tools are the tools the server last listed, in its order, and whether it ever
// did.
func (s *Server) Tools() ([]*catalog.Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.listed
}

// Ready waits until the server runs, starting it if need be. All who wait share
// one start, and that start outlives the caller who gave up on it. The error is
// a *Failure.
func (s *Server) Ready(ctx context.Context) error {
	s.mu.Lock()
	if s.status.State == Stopped {
		s.mu.Unlock()
		return notSent(failure.Canceled, "the host is closing")
	}
	if s.run != nil && !s.run.ending() {
		s.mu.Unlock()
		return nil
	}
	st := s.start
	if st == nil {
		st = &start{done: make(chan struct{}), before: s.run}
		s.start = st
		s.run = nil
		s.setLocked(Status{State: Starting})
		s.wg.Go(func() { s.bringUp(st) })
	}
	s.mu.Unlock()
	s.tell()
	select {
	case <-st.done:
		if st.fail != nil {
			return st.fail
		}
		return nil
	case <-ctx.Done():
		return waitFailure(ctx, "still starting")
	}
}

// Close stops the adapter process and waits for everything the server began. It
// is bounded by ctx, and by the stop's own steps. The server cannot be used again.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	r := s.run
	s.setLocked(Status{State: Stopped})
	s.run = nil
	s.mu.Unlock()
	s.tell()
	s.cancel()
	var err error
	if r != nil {
		err = r.stop(ctx)
	}
	s.wg.Wait()
	return err
}

// setLocked changes the status; tell, without the lock, must follow. Nothing
// follows Stopped.
func (s *Server) setLocked(st Status) {
	before := s.status
	if before.State == Stopped {
		return
	}
	s.status = st
	if before.State != st.State || before.Failure != st.Failure {
		s.news = append(s.news, st)
	}
}

// tell passes changes of the status on, in their order. On return those before
// the call have been told.
func (s *Server) tell() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	news := s.news
	s.news = nil
	s.mu.Unlock()
	if s.env.Changed == nil {
		return
	}
	for _, st := range news {
		s.env.Changed(s.set.Name, st)
	}
}
