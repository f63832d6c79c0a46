package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adrg/xdg"

	"github.com/collet-dev/collet/host/internal/audit"
	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/host/internal/hub"
	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/host/internal/redact"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/host/internal/snapshot"
	"github.com/collet-dev/collet/host/internal/telemetry"
)

// closeWait bounds Close. Each stop has shorter steps of its own that end in a
// kill, so this only matters when the machine is stuck.
const closeWait = 15 * time.Second

// Host is an open host. Close it to stop its servers.
type Host struct {
	opt     Options
	values  config.Resolver
	plugins pluginFinder
	pins    *pins.Keeper
	hub     *hub.Hub
	calls   *call.Pipeline
	results *results.Store
	hooks   hooks
	events  events
	audit   *audit.Log           // nil when nobody wants it
	told    *telemetry.Telemetry // nil when nobody wants it
	asks    atomic.Bool          // callers can be asked
	secrets *redact.Set          // of all servers

	credentials *credential.Keeper

	scripts     *codemode.Runner
	scriptIndex scriptIndex

	reloading sync.Mutex // one at a time, so that the last one read is the one kept
	watch     *watch     // nil when nobody asked for it
}

// Open reads the configuration and returns a host for it. It starts no server.
// Faults of single entries are not errors: see Problems. The error is a file
// that cannot be read.
func Open(ctx context.Context, opt Options) (*Host, error) {
	layers, err := opt.sources()
	if err != nil {
		return nil, err
	}
	c := config.Merge(layers)
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	secrets := new(redact.Set)
	opt.Log = slog.New(secrets.Handler(cmp.Or(opt.Log, slog.New(slog.DiscardHandler)).Handler()))
	opt.Version = cmp.Or(opt.Version, "dev")
	opt.StateDir = cmp.Or(opt.StateDir, stateDir())
	opt.CacheDir = cmp.Or(opt.CacheDir, filepath.Join(xdg.CacheHome, "collet"))
	h := &Host{opt: opt, values: newResolver(opt.Environ), results: OpenResults(opt.StateDir), scripts: codemode.New(), secrets: secrets}
	h.asks.Store(opt.Asks)
	if err := h.results.Sweep(); err != nil {
		opt.Log.Warn("kept results that have expired cannot be removed", "error", err)
	}
	h.pins = newKeeper(opt)
	h.credentials = h.openCredentials()
	h.adopt(c)
	h.audit = h.newAudit(c)
	describer := &plugins.Describer{CacheDir: opt.CacheDir}
	h.hooks = h.newHooks(describer)
	c = h.hooks.settle(ctx, c)
	h.hub = hub.New(c, server.Surroundings{
		Plugins:   &h.plugins,
		Describer: describer,
		Tools:     h.hooks,
		Pins:      h.pins,
		Resolver:  h.values,
		Environ:   opt.Environ,
		LogDir:    filepath.Join(opt.StateDir, "logs"),
		Snapshots: &snapshot.Store{Dir: filepath.Join(opt.StateDir, "snapshots")},
		Log:       opt.Log,
		Version:   opt.Version,
		Secrets:   secrets,
		Tokens:    h.credentials,
		Asks:      h.asks.Load,
		Record:    opt.recorder(),
		Changed: func(name string, s server.Status) {
			h.told.ServerChanged(name, string(s.State))
			h.events.emit(Event{ServerChanged: &ServerEvent{Server: name, State: string(s.State), Failure: ofServer(name, s.Failure)}})
		},
		Listed: func(name string) { h.events.emit(Event{CatalogChanged: &CatalogEvent{Server: name}}) },
		Notified: func(name, method string, params json.RawMessage) {
			h.events.emit(Event{Notified: &NotifiedEvent{Server: name, Method: method, Params: params}})
		},
	})
	h.calls = &call.Pipeline{
		Find: func(ctx context.Context, canonical string) (*catalog.Tool, call.Server, error) {
			t, s, err := h.hub.Find(ctx, canonical)
			return t, s, err
		},
		Server: func(name string) (call.Server, error) {
			s, err := h.hub.Enabled(name)
			return s, err
		},
		Rewritten: func(t *catalog.Tool) string {
			if s := h.hub.Server(t.Server); s == nil || !s.Rewritten(t.Name) {
				return ""
			}
			return "the tool was rewritten by its server since it was accepted; 'collet plugins trust " + t.Server + "' shows the change and accepts it"
		},
		Budget:   h.ResponseBudget,
		Results:  h.results,
		Hooks:    h.hooks,
		Started:  h.started,
		Finished: h.finished,
		Log:      opt.Log,

		Consents: OpenConsents(opt.StateDir), Consent: opt.Consent, Run: rand.Text(), KeepArguments: c.Host.Telemetry.AuditArguments, Conceal: secrets.JSON,
	}
	h.observe(ctx, c)
	if opt.Watch {
		h.watch = newWatch(ctx, h, layers)
	}
	return h, nil
}

// Close stops all servers and waits for them, at most 15 s. Calls in flight fail.
func (h *Host) Close() error {
	h.watch.close()
	h.scripts.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	err := h.hub.Close(ctx)
	h.hooks.Close()
	h.credentials.Close()
	h.closeRecords()
	return err
}

// Problems are the faults of the configuration, in file order. The entries they
// concern are left out; everything else works.
func (h *Host) Problems() []Problem { return h.hub.Config().Problems }

// Call makes one call. The error is always a *Failure. A tool that ran and says
// it failed is a Result with IsError set.
func (h *Host) Call(ctx context.Context, req Request) (*Result, error) { return h.calls.Do(ctx, req) }

// Forward passes one MCP request on to a server's upstream, byte for byte. The
// error is always a *Failure.
func (h *Host) Forward(ctx context.Context, req ForwardRequest) (json.RawMessage, error) {
	return h.calls.Forward(ctx, req)
}

// Subscribe has f called with every event until cancel is called. Events of one
// server come in order. f is called on the goroutine in which the event happens,
// and must neither block nor call into the host.
func (h *Host) Subscribe(f func(Event)) (cancel func()) { return h.events.subscribe(f) }

// events hands what happens to those who subscribed.
type events struct {
	mu   sync.RWMutex
	subs map[*func(Event)]struct{}
}

func (e *events) subscribe(f func(Event)) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.subs == nil {
		e.subs = map[*func(Event)]struct{}{}
	}
	key := &f
	e.subs[key] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.subs, key)
	}
}

// heard reports whether anybody subscribed.
func (e *events) heard() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return len(e.subs) > 0
}

func (e *events) emit(ev Event) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for f := range e.subs {
		(*f)(ev)
	}
}

// newResolver resolves configuration values from an environment.
func newResolver(environ []string) config.Resolver {
	vars := make(map[string]string, len(environ))
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			vars[k] = v
		}
	}
	return config.Resolver{
		Lookup:  func(k string) (string, bool) { v, ok := vars[k]; return v, ok },
		Home:    vars["HOME"],
		Command: valueCommand(environ),
		Keyring: func(_ context.Context, service, account string) (string, error) {
			return credential.Secret(service, account)
		},
	}
}

// ofServer is a server's failure as the public API shows it.
func ofServer(name string, f *server.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Server: name, Failure: f.Failure, Misconfigured: f.Misconfigured, Postponed: f.Postponed, Remote: f.Remote, Unlogged: f.Unlogged, StderrTail: f.StderrTail}
}
