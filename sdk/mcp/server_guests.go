package mcp

import (
	"container/list"
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"
)

// guests are the legacy HTTP sessions (2025-03-26 to 2025-11-25, Streamable HTTP,
// Session Management).
type guests struct {
	s *Server

	mu     sync.Mutex
	byID   map[string]*guest
	used   list.List // of *guest, the one used last in front
	sweep  *time.Timer
	closed bool

	kept atomic.Int64 // bytes of streams, for clients that come back
}

// guest is one legacy HTTP session.
type guest struct {
	s       *Server
	id      string
	client  *client
	answers *answers
	base    context.Context
	stop    context.CancelFunc

	// guarded by guests.mu:
	place *list.Element
	busy  int // requests and streams that use it
	since time.Time

	mu       sync.Mutex
	streams  []*stream // oldest first
	last     uint64    // number of the newest one
	gone     bool
	asking   map[uint64]*reply
	listener *listener
	idle     *stream // what belongs to no request; nil while nobody reads
	missed   [][]byte
}

func (gs *guests) init(s *Server) {
	gs.s = s
	gs.byID = map[string]*guest{}
	gs.used.Init()
}

// admit opens a session. One that was not used for the longest time makes room.
func (gs *guests) admit(c *client) *guest {
	g := &guest{s: gs.s, id: rand.Text(), client: c, asking: map[uint64]*reply{}}
	g.base, g.stop = context.WithCancel(gs.s.base)
	g.answers = newAnswers(g.base, maxServing)
	c.caller.Session = g.id
	c.asks = newSession(questions{g}, gs.s.opt.Log, nil)
	g.listener = c.listen(g.tell)
	gs.mu.Lock()
	gone := gs.expired()
	if len(gs.byID) >= gs.s.opt.MaxSessions {
		if old := gs.leastUsed(c.caller.Principal); old != nil {
			gone = append(gone, gs.remove(old))
		}
	}
	full := len(gs.byID) >= gs.s.opt.MaxSessions || gs.closed
	if !full {
		g.since = time.Now()
		g.place = gs.used.PushFront(g)
		gs.byID[g.id] = g
		gs.watch()
	}
	gs.mu.Unlock()
	for _, old := range gone {
		old.end()
	}
	if full {
		g.stop()
		return nil
	}
	gs.s.attend(g.listener)
	return g
}

// leastUsed is the idle session that was not used for the longest time, nil when
// there is none: of all, or of a principal that has half of them. Otherwise whoever
// opens many would end those of everybody else.
func (gs *guests) leastUsed(principal any) *guest {
	var any, own *guest
	owns := 0
	for e := gs.used.Back(); e != nil; e = e.Prev() {
		g := e.Value.(*guest)
		mine := gs.s.opt.SamePrincipal(g.client.caller.Principal, principal)
		if mine {
			owns++
		}
		if g.busy > 0 {
			continue
		}
		if any == nil {
			any = g
		}
		if mine && own == nil {
			own = g
		}
	}
	if 2*owns >= gs.s.opt.MaxSessions {
		return own
	}
	return any
}

// watch sees to it that idle sessions end without anybody coming by.
func (gs *guests) watch() {
	if gs.sweep == nil && gs.used.Len() > 0 && !gs.closed {
		gs.sweep = time.AfterFunc(gs.s.opt.SessionIdle, func() {
			gs.mu.Lock()
			gone := gs.expired()
			gs.sweep = nil
			gs.watch()
			gs.mu.Unlock()
			for _, g := range gone {
				g.end()
			}
		})
	}
}

// expired removes the sessions that were idle for too long.
func (gs *guests) expired() (gone []*guest) {
	limit := time.Now().Add(-gs.s.opt.SessionIdle)
	for e := gs.used.Back(); e != nil; {
		g, before := e.Value.(*guest), e.Prev()
		if g.since.After(limit) {
			break // those in front were used later
		}
		if g.busy == 0 {
			gone = append(gone, gs.remove(g))
		}
		e = before
	}
	return gone
}

func (gs *guests) remove(g *guest) *guest {
	delete(gs.byID, g.id)
	gs.used.Remove(g.place)
	return g
}

// enter finds a session, and keeps it until leave.
func (gs *guests) enter(id string) *guest {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byID[id]
	if g != nil {
		g.busy++
		gs.touch(g)
	}
	return g
}

func (gs *guests) touch(g *guest) {
	g.since = time.Now()
	if gs.byID[g.id] == g {
		gs.used.MoveToFront(g.place)
	}
}

func (g *guest) leave() {
	gs := &g.s.guests
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g.busy--
	gs.touch(g)
}

// dismiss ends a session by its client's wish.
func (gs *guests) dismiss(g *guest) {
	gs.mu.Lock()
	known := gs.byID[g.id] == g
	if known {
		gs.remove(g)
	}
	gs.mu.Unlock()
	if known {
		g.end()
	}
}

// hush ends the streams of what belongs to no request.
func (gs *guests) hush() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, g := range gs.byID {
		g.hush()
	}
}

// close ends all sessions.
func (gs *guests) close() {
	gs.mu.Lock()
	gs.closed = true
	if gs.sweep != nil {
		gs.sweep.Stop()
	}
	var all []*guest
	for _, g := range gs.byID {
		all = append(all, gs.remove(g))
	}
	gs.mu.Unlock()
	for _, g := range all {
		g.end()
	}
}

// end cancels what is served and closes what is read.
func (g *guest) end() {
	g.s.dismiss(g.listener)
	g.stop()
	g.answers.end()
	g.client.leave()
	g.hush()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
	for _, t := range g.streams {
		t.forget()
	}
}

func (g *guest) hush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		g.idle.end(nil)
	}
}
