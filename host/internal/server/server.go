// Package server owns ONE configured server: its adapter process from look-up
// to stop, its state, the list of its tools, and the calls made to it. It knows
// no other server, and nothing about exposure, validation or retries.
package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/host/internal/redact"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/host/internal/snapshot"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/recording"
)

// Finder finds the file of a plugin; plugins.Finder is one.
type Finder interface {
	Find(name, dir string) (string, error)
}

// Surroundings are what all servers of a host share.
type Surroundings struct {
	Plugins   Finder
	Describer *plugins.Describer
	// Pins admits plugin files, and knows what tools were accepted. Nil: everything is
	// taken as it is.
	Pins     *pins.Keeper
	Resolver config.Resolver
	Environ  []string // the host's environment, KEY=VALUE
	LogDir   string   // one file per server in it
	Log      *slog.Logger
	Version  string // the host's, told to adapters
	// HealthEvery is how often a running adapter is asked for a sign of life.
	// Default 15 s.
	HealthEvery time.Duration

	// Secrets is told of what is secret in the entries' values, and keeps it out of
	// logs and failures. Default: a set of the server's own.
	Secrets *redact.Set
	// Tokens gets servers their tokens. Nil: they get none.
	Tokens Tokens
	// Asks reports whether callers can be asked. Nil: nobody can.
	Asks func() bool
	// Snapshots keeps what servers offer between runs. Nil: nothing is kept.
	Snapshots *snapshot.Store
	// Tools edits each list of tools. Nil: they are as the servers define them.
	Tools ToolsEditor
	// Schemas compiles the schemas of plugins' settings. Default: one of the server's own.
	Schemas *schema.Cache
	// Turn waits until no other server of the host is starting against url, and
	// holds that place until done is called. It gives up with ctx. Nil: no waiting.
	Turn func(ctx context.Context, url string) (done func(), err error)
	// Record is written what goes to and fro between host and adapters. Nil: nothing is.
	Record *recording.Writer
	// Changed is told of every change of state, Listed of every new list of
	// tools. Both are called without locks held and must not block.
	Changed func(name string, s Status)
	Listed  func(name string)
	// Notified is told of what upstreams announce about that which is only passed
	// on to them: "notifications/resources/updated" with its params, nil when there
	// are none. It is called without locks held and must not block.
	Notified func(name, method string, params json.RawMessage)
}

// Status is a server's state at one moment.
type Status struct {
	State   State
	Failure *Failure // why, when degraded, backing off or failed
	Pid     int      // of the adapter process; 0 when none runs
	Version string   // the upstream's "name version", when it said
}

// Server is one configured server. Its methods are safe for concurrent use.
type Server struct {
	name   string
	env    Surroundings
	set    atomic.Pointer[config.Server]
	own    atomic.Int64 // the plugin's own default timeout in ns; 0 before it was described
	launch func(context.Context, *config.Server) (*run, []*catalog.Tool, *Failure)
	ctx    context.Context // ends when the server is closed
	cancel context.CancelFunc
	wg     sync.WaitGroup
	queue  queue

	removed atomic.Bool // closed because its entry is gone
	shown   redact.Set  // all values of the entry, once they were resolved; see Redact

	mu      sync.Mutex
	life    life
	moved   chan struct{} // closed at the next change of state
	run     *run          // the live process; nil unless ready or degraded
	leaving *run          // the process before, while it is being stopped
	start   *start        // the start in flight, shared by all who wait for it
	used    time.Time     // when something last needed the server
	news    []Status      // changes that Changed has not been told of yet

	tools  []*catalog.Tool
	usable []*catalog.Tool // tools without those that are withheld
	// approval is how tools stand to what was accepted; nil when nobody looked.
	approval *approval
	listed   bool // tools is what the server said under these settings, if only in an earlier run
	// recalled: tools is what another host was told under these settings.
	recalled bool
	asked    time.Time         // when that was, and
	trouble  *snapshot.Trouble // why it could not be started since; nil when nobody tried
	since    time.Time         // when these settings came
	unkept   *observation      // what is to be kept next
	keeping  bool              // somebody sees to that
	kept     *kept             // what was kept last, or recalled; nil for nothing
	// introduced is what the upstream said of itself under these settings, likewise.
	introduced *Introduction
	withdrawn  withdrawals

	telling sync.Mutex // held while Changed is called, so that changes arrive in order
}

// start is one attempt to bring the server up.
type start struct {
	ctx    context.Context // ends with the server, or when the settings changed under it
	cancel context.CancelFunc
	again  bool // the settings changed under it: begin anew
	done   chan struct{}
	fail   *Failure // valid once done is closed
}

// New returns a server that starts when something needs it.
func New(set *config.Server, env Surroundings) *Server {
	if env.Schemas == nil {
		env.Schemas = new(schema.Cache)
	}
	if env.Secrets == nil {
		env.Secrets = new(redact.Set)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{name: set.Name, env: env, ctx: ctx, cancel: cancel, life: life{state: Idle}, moved: make(chan struct{}), since: time.Now()}
	s.launch = s.launchAdapter
	s.set.Store(set)
	s.foresee(set)
	s.queue.resize(set.MaxConcurrent)
	return s
}

// Name is the server's name in mcp.toml.
func (s *Server) Name() string { return s.name }

// Settings are the server's entry in mcp.toml as it is now. The caller does not
// change them; a reload puts others in their place.
func (s *Server) Settings() *config.Server { return s.set.Load() }

// LogFile is where the adapter's stderr goes: a file for each name and mcp.toml,
// since two configurations may use a name for different servers.
func (s *Server) LogFile() string {
	from := sha256.Sum256([]byte(home(s.Settings())))
	return filepath.Join(s.env.LogDir, fmt.Sprintf("%s-%x.log", s.name, from[:4]))
}

// home is the file of an entry, whatever name it was given by.
func home(set *config.Server) string { return filepath.Join(set.Dir, filepath.Base(set.File)) }

// Status is how the server is now.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statusLocked()
}

func (s *Server) statusLocked() Status {
	st := Status{State: s.life.state, Failure: s.life.why}
	if s.run != nil {
		st.Pid, st.Version = s.run.proc.Pid(), s.run.introduced()
	}
	return st
}

// Tools are the tools the server last listed, in its order, and whether it did so
// to this host and under its present settings, if only in an earlier run. Those that
// it did not are what there is to show of it until it has been asked: what Recall
// has found, or what it had under other settings, as long as it is starting. Those
// that are Withheld are not among them.
func (s *Server) Tools() ([]*catalog.Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable, s.listed
}

// Ready waits until the server runs, starting it if need be. All who wait share
// one start, and that start outlives the caller who gave up on it. After an end
// or a failed start the next one may have to wait; patience is how long the
// caller would wait for that, 0 as long as ctx allows. The error is a *Failure.
func (s *Server) Ready(ctx context.Context, patience time.Duration) error {
	s.mu.Lock()
	for {
		now := time.Now()
		wait, refuse := s.life.hold(now)
		if deadline, ok := ctx.Deadline(); ok && now.Add(wait).After(deadline) || patience > 0 && wait > patience {
			refuse = true
		}
		switch {
		case s.life.state == Stopped:
			s.mu.Unlock()
			return s.gone()
		case s.run != nil && !s.run.ending():
			s.used = now
			s.mu.Unlock()
			return nil
		case s.run != nil:
			wait = lostWait + stopWait // it is on its way out, and what follows is decided at its end
		case s.start == nil && wait == 0:
			s.beginLocked()
			fallthrough
		case s.start != nil:
			st := s.start
			s.mu.Unlock()
			s.tell()
			return st.wait(ctx)
		case refuse:
			f := s.life.postponed(now)
			s.mu.Unlock()
			return f
		}
		if fail := s.sleepLocked(ctx, wait); fail != nil {
			return fail
		}
	}
}

// sleepLocked lets go of the lock until the state changes, for at most that
// long. When ctx ends first it says so, without the lock.
func (s *Server) sleepLocked(ctx context.Context, limit time.Duration) *Failure {
	moved := s.moved
	s.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-moved:
	case <-timer.C:
	case <-ctx.Done():
		return waitFailure(ctx, "waiting for its next start")
	}
	s.mu.Lock()
	return nil
}

func (st *start) wait(ctx context.Context) error {
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

// renew gives the start a context of its own below parent.
func (st *start) renew(parent context.Context) { st.ctx, st.cancel = context.WithCancel(parent) }

// beginLocked begins a start; tell, without the lock, must follow.
func (s *Server) beginLocked() {
	st := &start{done: make(chan struct{})}
	st.renew(s.ctx)
	s.start, s.used = st, time.Now()
	s.onLocked(begun, nil)
	s.wg.Go(func() { s.bringUp(st) })
}

// Remove is Close for a server whose configuration holds it no more.
func (s *Server) Remove(ctx context.Context) error {
	s.removed.Store(true)
	return s.Close(ctx)
}

// gone says why a server that was closed serves nobody.
func (s *Server) gone() *Failure {
	if s.removed.Load() {
		return notSent(failure.NotFound, "it was removed from the configuration")
	}
	return notSent(failure.Canceled, "the host is closing")
}

// Close stops the adapter process and waits for everything the server began. It
// is bounded by ctx, and by the stop's own steps. The server cannot be used again.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	r := s.run
	s.run = nil
	s.onLocked(closed, nil)
	s.mu.Unlock()
	s.tell()
	s.cancel()
	var err error
	if r != nil {
		err = r.stop(ctx)
	}
	s.wg.Wait()
	s.keepVerdicts()
	return err
}

// onLocked applies an event to the server's life; tell, without the lock, must
// follow.
func (s *Server) onLocked(ev event, why *Failure) {
	if !s.life.on(ev, why, time.Now()) {
		return
	}
	s.news = append(s.news, s.statusLocked())
	s.movedLocked()
}

// movedLocked wakes those who wait for a change.
func (s *Server) movedLocked() {
	close(s.moved)
	s.moved = make(chan struct{})
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
		s.env.Changed(s.name, st)
	}
}
