package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

const (
	// unwatchWait bounds telling a server that nobody watches a resource any more.
	unwatchWait = 10 * time.Second
	// rewatchWait bounds asking one again that has just come up.
	rewatchWait = 30 * time.Second
)

// watched are the resources that clients watch. A server is asked once for all
// of them.
type watched struct {
	mu   sync.Mutex
	byID map[owned]*watching
}

type watching struct {
	clients int // guarded by watched.mu

	mu sync.Mutex // held while the server is asked
	on bool
}

// Watch implements protocol.Watcher.
func (f *Front) Watch(ctx context.Context, c *protocol.Caller, uri string) (release func(), err error) {
	owners, err := f.ownersOf(ctx, c, "resources/subscribe", uri)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if err = f.watch(ctx, o); err == nil {
			var once sync.Once
			return func() { once.Do(func() { f.spawn(func() { f.unwatch(o) }) }) }, nil
		}
		if !isNotFound(err) {
			break
		}
	}
	return nil, err
}

func (f *Front) watch(ctx context.Context, o owned) error {
	w := f.watched.enter(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on {
		return nil
	}
	if err := f.subscription(ctx, "resources/subscribe", o); err != nil {
		f.watched.leave(o)
		f.watched.drop(o)
		return protocolError(err)
	}
	w.on = true
	return nil
}

func (f *Front) unwatch(o owned) {
	w := f.watched.leave(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on && f.watched.deserted(o) {
		ctx, cancel := context.WithTimeout(f.base, unwatchWait)
		defer cancel()
		_ = f.subscription(ctx, "resources/unsubscribe", o) // what it tells in vain, nobody hears
		w.on = false
	}
	f.watched.drop(o)
}

// Returned asks a server again for all that is watched: it has been started anew,
// and knows of nothing. Nobody can say what has changed in between, so that who
// watches is told, with the parameters of notifications/resources/updated, to look.
func (f *Front) Returned(server string, tell func(params json.RawMessage)) {
	f.watched.mu.Lock()
	again := map[owned]*watching{}
	for o, w := range f.watched.byID {
		if o.server == server {
			again[o] = w
		}
	}
	f.watched.mu.Unlock()
	for o, w := range again {
		f.spawn(func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.on {
				return
			}
			ctx, cancel := context.WithTimeout(f.base, rewatchWait)
			defer cancel()
			_ = f.subscription(ctx, "resources/subscribe", o) // or the client's next one says why not
			tell(append(rawjson.AppendString([]byte(`{"uri":`), f.uri(o.server, o.own)), '}'))
		})
	}
}

func (f *Front) subscription(ctx context.Context, method string, o owned) error {
	params := append(rawjson.AppendString([]byte(`{"uri":`), o.own), '}')
	_, err := f.host.Forward(ctx, call.ForwardRequest{
		Server: o.server, Method: method, Params: json.RawMessage(params),
		Caller: exposure.Model, Owner: "host", // one subscription serves all who watch
	})
	return err
}

func (w *watched) enter(o owned) *watching {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[owned]*watching{}
	}
	one := w.byID[o]
	if one == nil {
		one = &watching{}
		w.byID[o] = one
	}
	one.clients++
	return one
}

func (w *watched) leave(o owned) *watching {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byID[o]
	one.clients--
	return one
}

func (w *watched) deserted(o owned) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[o] != nil && w.byID[o].clients == 0
}

// drop forgets what nobody watches.
func (w *watched) drop(o owned) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byID[o]; one != nil && one.clients == 0 {
		delete(w.byID, o)
	}
}
