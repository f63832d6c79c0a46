package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/front/control"
)

// stdioServer serves a client of MCP over a pair of streams.
type stdioServer func(ctx context.Context, in io.Reader, out io.Writer) error

// sharing is a host that other processes use. A nil one is used by nobody.
type sharing struct {
	server  *control.Server
	stop    chan struct{} // closed when somebody wants the host to end
	yielded chan struct{} // closed when another process has the place

	follow sync.WaitGroup
	moves  chan bool // the configuration changed; whether the host goes by it
	leave  func()    // has the place given up, for good
}

// share lets other processes use the host, and with stoppable end it; stdio serves
// clients of MCP among them. A host that cannot be shared, or one of several for the same configuration, is as good
// for its own client: nothing is said of it.
func (f *Factory) share(ctx context.Context, h openHost, stdio stdioServer, stoppable bool) *sharing {
	if !f.shares {
		return nil
	}
	owner, err := f.own(ctx)
	if err != nil {
		return nil
	}
	return f.shareAt(ctx, owner, h, stdio, stoppable)
}

// shareAt is share at a place that this process has already; nil is none.
func (f *Factory) shareAt(ctx context.Context, owner *control.Owner, h openHost, stdio stdioServer, stoppable bool) *sharing {
	own, ok := h.(opened)
	if !ok && owner != nil {
		owner.Release()
	}
	if !ok || owner == nil {
		return nil
	}
	s := &sharing{stop: make(chan struct{}), yielded: make(chan struct{}), moves: make(chan bool, 1)}
	s.server = &control.Server{
		Host: own.Host, Build: control.Build(f.Version), Version: f.Version, Stdio: stdio, Log: f.log,
		Yielded: sync.OnceFunc(func() { close(s.yielded) }),
	}
	if stoppable {
		s.server.Stop = sync.OnceFunc(func() { close(s.stop) })
	}
	s.server.Serve(owner)
	s.follow.Go(func() {
		for follows := range s.moves {
			// The place stands for what the configuration was. A file that cannot be read
			// has none: the host goes by what it said before.
			var owner *control.Owner
			s.server.Move(nil)
			if follows {
				owner, _ = f.own(context.WithoutCancel(ctx)) // another process may have it
			}
			s.server.Move(owner)
		}
	})
	unsubscribe := own.Subscribe(func(e host.Event) {
		if e.ConfigChanged == nil {
			return
		}
		whole := !slices.ContainsFunc(e.ConfigChanged.Problems, func(p host.Problem) bool { return p.Key == "" && p.Server == "" })
		select { // the newest counts
		case <-s.moves:
		default:
		}
		select {
		case s.moves <- whole:
		default:
		}
	})
	s.leave = sync.OnceFunc(func() {
		unsubscribe()
		close(s.moves)
		s.follow.Wait()
		s.server.Move(nil)
	})
	return s
}

// own takes the place of the configuration. A host of another build there yields it:
// whoever is connected to that stays with it.
func (f *Factory) own(ctx context.Context) (*control.Owner, error) {
	layers, err := f.quietly(ctx)
	if err != nil {
		return nil, err
	}
	place, ok := f.place(layers)
	if !ok {
		return nil, errNotShared
	}
	owner, err := control.Own(place)
	if !errors.Is(err, control.ErrOwned) {
		return owner, err
	}
	dialing, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	c, reached := control.Dial(dialing, place, control.Build(f.Version))
	if c != nil {
		defer c.Close()
	}
	if !errors.Is(reached, control.ErrOther) {
		return nil, err
	}
	if err := c.Yield(ctx); err != nil {
		return nil, err
	}
	return control.Own(place)
}

// quietly are the layers that count, without a word about those that do not.
func (f *Factory) quietly(context.Context) ([]host.Layer, error) {
	if f.named() != "" {
		return nil, nil
	}
	found, err := f.discover("")
	if err != nil {
		return nil, err
	}
	return found.Sources(), nil
}

// linger waits until nobody uses the host any more; nobody new does.
func (s *sharing) linger(ctx context.Context) {
	if s == nil {
		return
	}
	s.leave()
	untilNone(ctx, s.server.Clients)
}

// untilNone waits until a count that tells of its changes is zero, or ctx ends.
func untilNone(ctx context.Context, count func() (int, <-chan struct{})) {
	for {
		n, changed := count()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// finish gives up the place and has what others have asked of the host come to its end,
// within limit: calls of commands, and those of clients of MCP, whom face serves. Such a
// client that waits for nothing is let go of at once.
func (s *sharing) finish(ctx context.Context, limit time.Duration, face interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if s == nil {
		_ = face.Close(ctx) // what is left was told so
		return
	}
	s.leave()
	var faces sync.WaitGroup
	defer faces.Wait()
	faces.Go(func() { _ = face.Close(ctx) })
	untilNone(ctx, s.server.Busy)
}

// lateFace is the MCP face of a host that has no client of its own: it is opened for the
// first one of another process.
type lateFace struct {
	open func() frontend

	mu     sync.Mutex
	face   frontend // nil before
	closed bool
}

func (l *lateFace) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	l.mu.Lock()
	if l.face == nil && !l.closed {
		l.face = l.open()
	}
	face := l.face
	l.mu.Unlock()
	if face == nil {
		return errEnding
	}
	return face.ServeStdio(ctx, in, out)
}

var errEnding = errors.New("the host is ending")

func (l *lateFace) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	face := l.face
	l.mu.Unlock()
	if face == nil {
		return nil
	}
	return face.Close(ctx)
}

// close ends what others do with the host.
func (s *sharing) close() {
	if s == nil {
		return
	}
	s.leave()
	s.server.Close()
}
