package control

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/host"
)

// What one user's processes may have of a host at once. Both are far above what
// commands and clients need, and keep one that runs wild from taking down the host for
// the others.
const (
	maxPeers = 512
	// maxRefused is how many more are told that there are too many.
	maxRefused = 64
	maxBegun   = 256 // of one process
)

// Server shares a host with other processes of its user.
type Server struct {
	Host           *host.Host
	Build, Version string
	// Stdio serves a client of MCP over a pair of streams, until the first ends.
	Stdio func(ctx context.Context, in io.Reader, out io.Writer) error
	// Stop is called when a client wants the host to end, Yielded when the place is
	// another's from now on.
	Stop, Yielded func()
	Log           string // see Welcome

	since  time.Time
	ctx    context.Context // ends what is being done
	cancel context.CancelFunc
	work   sync.WaitGroup

	unfinished atomic.Int64 // bytes of messages that are not whole, of all connections

	mu    sync.Mutex
	owner *Owner // of the place; nil when it was let go of
	conns map[*peer]struct{}
	// beside is how many of them only attend a session of MCP, and sessions ends those, by
	// the token of each.
	beside   int
	sessions map[string]context.CancelFunc
	// waiting are of processes that wait for the end of this one, servers included: the
	// system closes them then, and nobody before.
	waiting []net.Conn
	idle    chan struct{} // closed and replaced whenever the number of connections changes
}

// Serve begins to share the host at the place that owner has. It returns at once;
// Close ends it.
func (s *Server) Serve(owner *Owner) {
	s.since = time.Now()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.owner, s.conns, s.idle = owner, map[*peer]struct{}{}, make(chan struct{})
	s.sessions = map[string]context.CancelFunc{}
	s.work.Go(func() { s.accept(owner) })
	s.work.Go(func() { s.tend(owner) })
}

// tendEvery is how often a host looks whether it can still be found.
var tendEvery = time.Minute

// tend takes a place anew whose files somebody removed. Where another process was
// faster, that one has it.
func (s *Server) tend(owner *Owner) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-owner.ended:
			return
		}
		if owner.has() {
			continue
		}
		owner.forsake()
		via := owner.via
		if _, ok := via.(*loopback); ok { // who connected before may still be asked for its secrets
			via = new(loopback)
		}
		again, err := own(owner.place, via)
		s.mu.Lock()
		mine := s.owner == owner
		if mine {
			s.owner = again
			s.changedLocked()
		}
		s.mu.Unlock()
		switch {
		case !mine && again != nil: // it has moved meanwhile
			again.Release()
		case mine && again != nil:
			s.work.Go(func() { s.accept(again) })
			s.work.Go(func() { s.tend(again) })
		case mine && errors.Is(err, ErrOwned) && s.Yielded != nil:
			s.Yielded()
		}
		return
	}
}

// Move shares the host at another place instead, which its configuration has come
// to stand for. With nil it is shared with nobody new: Clients counts all there will be.
func (s *Server) Move(to *Owner) {
	s.mu.Lock()
	before := s.owner
	s.owner = to
	s.changedLocked()
	s.mu.Unlock()
	if before != nil {
		before.Release()
	}
	if to != nil {
		s.work.Go(func() { s.accept(to) })
		s.work.Go(func() { s.tend(to) })
	}
}

// Shared reports whether the host has a place where new clients find it.
func (s *Server) Shared() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner != nil
}

// Clients is how many processes are connected that do not wait for the end, and a channel that is closed when
// that changes.
func (s *Server) Clients() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) - s.beside, s.idle
}

// Busy is how many processes wait for something that ends by itself, and a channel that
// is closed when that may have changed. Clients of MCP and processes that watch stay
// until they are told to go, and are none of them.
func (s *Server) Busy() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for p := range s.conns {
		if p.busy {
			n++
		}
	}
	return n, s.idle
}

// busy says whether somebody waits for what a process does here.
func (s *Server) busy(p *peer, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.busy != busy {
		p.busy = busy
		s.changedLocked()
	}
}

// session names something that cancel ends, for who attends it.
func (s *Server) session(cancel context.CancelFunc) (token string, end func()) {
	token = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[token] = cancel
	return token, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, token)
	}
}

// attend has the session of a token end with the connection of p.
func (s *Server) attend(p *peer, token string) (leave context.CancelFunc, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	leave, ok = s.sessions[token]
	if ok = ok && !p.beside; ok {
		p.beside, p.busy = true, false
		s.beside++
		s.changedLocked()
	}
	return leave, ok
}

// Close lets go of the place, ends all connections, but for those of processes that
// wait for the end of this one, and waits until nothing is being done any more.
func (s *Server) Close() {
	s.Move(nil)
	s.cancel()
	s.mu.Lock()
	for p := range s.conns {
		p.s.conn.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

func (s *Server) accept(owner *Owner) {
	for {
		conn, err := owner.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many files are open, for instance
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond): // not to spin on what does not pass
			}
			continue
		}
		p := &peer{server: s, s: newStream(conn), begun: map[uint64]context.CancelFunc{}, asked: map[uint64]chan answer{}}
		p.s.all = &s.unfinished
		s.mu.Lock()
		if len(s.conns)-s.beside >= maxPeers+maxRefused || s.owner != owner { // too many, or too late
			s.mu.Unlock()
			conn.Close() // it does without this host
			continue
		}
		p.refused = len(s.conns)-s.beside >= maxPeers
		s.conns[p] = struct{}{}
		s.changedLocked()
		s.mu.Unlock()
		s.work.Go(func() {
			waits := owner.via.admit(conn) == nil && p.serve(s.ctx)
			if !waits {
				conn.Close()
			}
			s.mu.Lock()
			if waits {
				s.waiting = append(s.waiting, conn)
			}
			delete(s.conns, p)
			if p.beside {
				s.beside--
			}
			s.changedLocked()
			s.mu.Unlock()
		})
	}
}

func (s *Server) changedLocked() {
	close(s.idle)
	s.idle = make(chan struct{})
}

func (s *Server) welcome() Welcome {
	return Welcome{
		Build: s.Build, Version: s.Version, Pid: pid, Since: s.since,
		Problems: s.Host.Problems(), Servers: portableServers(s.Host.Servers()), HookLogs: s.Host.HookLogs(),
		Serve: s.Stop == nil, Log: s.Log,
	}
}

func (s *Server) status() Status {
	n, _ := s.Clients()
	return Status{Pid: pid, Version: s.Version, Since: s.since, Clients: n - 1, Servers: portableServers(s.Host.Servers())}
}
