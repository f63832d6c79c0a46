// Package credential gives servers their tokens: it finds out who issues them, logs
// a person in, keeps what came of it, and refreshes it in time, once for all
// goroutines and processes that want it.
//
// Its parts are packages of their own: challenge reads what a server refuses with,
// discovery who issues its tokens, register gets this client an identity there, flow
// is the way through the browser, grant the requests for tokens, store the file,
// fetch the HTTP below all of them. This package alone decides what happens when,
// and its errors alone are failures.
//
// It never opens a browser, never asks a person and prints nothing: whoever can
// passes a Browser to Login. It knows no MCP and no configuration file.
package credential

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
	"github.com/collet-dev/collet/host/internal/credential/store"
)

const (
	// flightTimeout bounds one refresh with all that belongs to it. It is long: whoever
	// waits has a deadline of its own, and a rotated refresh token whose answer nobody
	// read is lost.
	flightTimeout = 3 * time.Minute
	// closeGrace is how long Close waits for a refresh under way, for the same reason.
	closeGrace = 10 * time.Second
)

// KeyringUse says whether the system's keyring is used.
type KeyringUse uint8

const (
	KeyringAuto KeyringUse = iota // where there is one
	KeyringOff
)

// Options of a Keeper.
type Options struct {
	Path    string // of the file of credentials, absolute
	Keyring KeyringUse
	Log     *slog.Logger // nil is none; it is told no secret
	Version string       // of collet
	// Secret is called with every secret value before it is used, so that output can
	// be kept free of it. nil is nobody. It may be called from any goroutine, and
	// more than once with the same value.
	Secret func(string)
	// Now is time.Now when nil.
	Now func() time.Time
}

// Keeper is the credentials of a process. All methods may be called at once.
type Keeper struct {
	opt   Options
	store *store.Store

	base    context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup // flights
	closing sync.Once

	mu      sync.Mutex
	closed  bool
	clients map[clientKey]*fetch.Client
	flights map[string]*flight
	cooling map[string]cooling
	issued  map[string]issued // of grants that need no person
	unsaved map[string]unsaved
}

type clientKey struct{ resource, caFile string }

// Open returns a Keeper. It reads nothing yet.
func Open(opt Options) *Keeper {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Secret == nil {
		opt.Secret = func(string) {}
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	k := &Keeper{
		opt: opt, store: &store.Store{Path: opt.Path},
		clients: map[clientKey]*fetch.Client{}, flights: map[string]*flight{}, cooling: map[string]cooling{},
		issued: map[string]issued{}, unsaved: map[string]unsaved{},
	}
	if opt.Keyring == KeyringAuto {
		k.store.Keyring = store.System()
	}
	k.base, k.cancel = context.WithCancel(context.Background())
	return k
}

// Close waits for refreshes under way, at most 10 s, and ends what goes on then. What
// could not be stored is tried to be stored once more.
// Calls fail from then on.
func (k *Keeper) Close() {
	k.closing.Do(func() {
		k.mu.Lock()
		k.closed = true
		k.mu.Unlock()
		timer := time.AfterFunc(closeGrace, k.cancel)
		k.work.Wait()
		timer.Stop()
		k.writeLast()
		k.cancel()
		for _, c := range k.clients {
			c.Close()
		}
	})
}

// client returns the HTTP client for what concerns a server.
func (k *Keeper) client(s Settings) (*fetch.Client, error) {
	key := clientKey{s.endpoint(), s.CAFile}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		return c, nil
	}
	agent := "collet"
	if k.opt.Version != "" {
		agent += "/" + k.opt.Version
	}
	c, err := fetch.New(fetch.Options{Server: s.Resource, CAFile: s.CAFile, Agent: agent})
	if err != nil {
		return nil, err
	}
	k.clients[key] = c
	return c, nil
}

// tell makes the secrets of a credential known before anybody can print them.
func (k *Keeper) tell(secrets ...string) {
	for _, s := range secrets {
		if s != "" {
			k.opt.Secret(s)
		}
	}
}
