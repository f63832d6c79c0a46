package control

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/collet-dev/collet/host"
)

var pid = os.Getpid()

// peer is one process that uses the host.
type peer struct {
	server  *Server
	s       *stream
	refused bool // there are too many
	work    sync.WaitGroup

	busy, beside bool // see Server.Busy and Server.attend, whose lock guards them

	mu    sync.Mutex
	begun map[uint64]context.CancelFunc
	asked map[uint64]chan answer
	last  uint64 // question
}

// serve reads what the process wants until it leaves. What it began ends with it. It
// reports whether the process waits for the end of this one, which the end of the
// connection tells it.
func (p *peer) serve(ctx context.Context) (waits bool) {
	ctx, cancel := context.WithCancel(ctx)
	session := "local-" + rand.Text()
	defer p.work.Wait()
	defer cancel()
	defer p.s.forget()
	p.s.limit = maxGreeting
	for greeted := false; ; {
		if !greeted && p.s.conn.SetReadDeadline(time.Now().Add(greetWait)) != nil {
			return false
		}
		m, err := p.s.read()
		if err != nil || !greeted && m.op != opHello {
			return false
		}
		switch m.op {
		case opHello:
			greeted = true
			p.s.limit = maxMessage
			if p.s.conn.SetReadDeadline(time.Time{}) != nil {
				return false
			}
			if p.refused {
				p.reply(m.id, nil, fmt.Errorf("the running host (pid %d) serves %d processes, as many as it does at once", pid, maxPeers))
				return false
			}
			p.server.busy(p, true)
			p.reply(m.id, p.server.welcome(), nil)
		case opPing:
			p.send(opPong, m.id, nil)
		case opCancel:
			p.mu.Lock()
			if stop := p.begun[m.id]; stop != nil {
				stop()
			}
			p.mu.Unlock()
		case opAnswer:
			p.answered(m.body)
		case opStdio:
			p.stdio(ctx, m.id)
			return false
		case opAttend:
			var a attendRequest
			err := unpack(m.body, &a)
			if err == nil {
				leave, ok := p.server.attend(p, a.Session)
				if !ok {
					p.reply(m.id, nil, errors.New("the session has ended"))
					return false
				}
				defer leave()
			}
			p.reply(m.id, nil, err)
		case opStop:
			if p.server.Stop == nil {
				p.reply(m.id, nil, errors.New("it is a 'collet serve', which ends when its MCP client closes it, or on SIGTERM"))
				continue
			}
			p.reply(m.id, nil, nil)
			p.server.Stop()
			return true
		default:
			p.begin(ctx, m, session)
		}
	}
}

// stdio makes the connection one of MCP.
func (p *peer) stdio(ctx context.Context, id uint64) {
	conn, ok := p.s.conn.(half)
	if !ok || p.server.Stdio == nil {
		p.reply(id, nil, errors.New("this host serves no clients of MCP"))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	token, end := p.server.session(cancel)
	defer end()
	p.server.busy(p, false)
	p.reply(id, attendRequest{token}, nil)
	both := borrowed{conn, p.s}
	_ = p.server.Stdio(ctx, &incoming{both}, &both) // who has gone is told nothing
}

// incoming is what a client says. Its end leaves the other direction open.
type incoming struct{ borrowed }

func (i *incoming) Close() error { return i.SetReadDeadline(time.Unix(1, 0)) }

func (p *peer) begin(ctx context.Context, m message, session string) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	full, taken := len(p.begun) >= maxBegun, p.begun[m.id] != nil
	if !full && !taken {
		p.begun[m.id] = cancel
	}
	p.mu.Unlock()
	switch {
	case taken: // an answer could belong to either; it is no client of ours
		cancel()
		p.s.conn.Close()
		return
	case full:
		cancel()
		p.reply(m.id, nil, fmt.Errorf("this process has begun %d things with the running host, which are as many as it does at once; none was begun", maxBegun))
		return
	}
	p.work.Go(func() {
		defer func() {
			p.mu.Lock()
			delete(p.begun, m.id)
			p.mu.Unlock()
			cancel()
		}()
		p.do(ctx, m, session)
	})
}

// do does one thing. Its answer is the last that is said of it.
func (p *peer) do(ctx context.Context, m message, session string) {
	h := p.server.Host
	switch m.op {
	case opServers:
		p.reply(m.id, portableServers(h.Servers()), nil)
	case opTools:
		answering(p, m, func(q host.Query) (any, error) { return p.tools(ctx, q) })
	case opTool:
		answering(p, m, func(r toolRequest) (any, error) {
			t, err := h.Tool(ctx, r.Name)
			return packTool(t), err
		})
	case opKnown:
		answering(p, m, func(r toolRequest) (any, error) {
			t, asked := h.Known(ctx, r.Name)
			return knownAnswer{packTool(t), asked}, nil
		})
	case opCall:
		answering(p, m, func(r callRequest) (any, error) { return p.call(ctx, m.id, r, session) })
	case opRun:
		answering(p, m, func(r runRequest) (any, error) { return p.run(ctx, m.id, r, session) })
	case opSearch:
		var q host.SearchQuery
		err := unpack(m.body, &q)
		var found json.RawMessage
		if err == nil {
			found, err = h.Search(ctx, q)
		}
		if err != nil {
			p.reply(m.id, nil, err)
			return
		}
		p.send(opDone, m.id, found)
	case opInstructions:
		p.reply(m.id, h.Instructions(), nil)
	case opPrompt:
		answering(p, m, func(r promptRequest) (any, error) { return h.Prompt(r.Exposure, r.names()), nil })
	case opDefinitions:
		answering(p, m, func(r promptRequest) (any, error) { return h.Definitions(r.names()), nil })
	case opRestart:
		answering(p, m, func(r restartRequest) (any, error) { return nil, h.Restart(ctx, r.Server) })
	case opWatch:
		p.server.busy(p, false)
		p.watch(ctx, m.id)
	case opStatus:
		p.reply(m.id, p.server.status(), nil)
	case opYield:
		p.server.Move(nil)
		p.server.Yielded()
		p.reply(m.id, nil, nil)
	default:
		p.reply(m.id, nil, fmt.Errorf("the running host does not know request %d", m.op))
	}
}

func (r promptRequest) names() []string {
	if r.All {
		return nil
	}
	return append([]string{}, r.Servers...)
}

// answering answers a request of type R with what do makes of it.
func answering[R any](p *peer, m message, do func(R) (any, error)) {
	var r R
	if err := unpack(m.body, &r); err != nil {
		p.reply(m.id, nil, err)
		return
	}
	v, err := do(r)
	p.reply(m.id, v, err)
}

// tools lists, and has those servers asked behind that were not asked for it.
func (p *peer) tools(ctx context.Context, q host.Query) (any, error) {
	list, err := p.server.Host.Tools(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, s := range list.Servers {
		if !s.Asked.IsZero() && s.Pid == 0 {
			p.server.refresh(s.Name)
		}
	}
	out := listing{Servers: portableServers(list.Servers), Tools: make([]tool, 0, len(list.Tools))}
	for i := range list.Tools {
		out.Tools = append(out.Tools, *packTool(&list.Tools[i]))
	}
	return out, nil
}

// refreshWait bounds a start that nobody waits for.
const refreshWait = time.Minute

// refresh starts a server, for the next list.
func (s *Server) refresh(name string) {
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, refreshWait)
		defer cancel()
		_, _ = s.Host.Tools(ctx, host.Query{Pattern: name}) // that it failed is a part of the next list
	})
}

func (p *peer) call(ctx context.Context, id uint64, r callRequest, session string) (any, error) {
	req := r.Request
	if req.Session == "" { // what is agreed to in a session is in that of this process
		req.Session = session
	}
	if r.Progress {
		tell, end := p.latest(id)
		defer end()
		req.OnProgress = tell
	}
	if r.Consent {
		req.Consent = p.consenter(id)
	}
	if r.Asks {
		req.Ask = p.asker(id, req.Tool)
	}
	return p.server.Host.Call(ctx, req)
}

// latest tells the process of progress from a goroutine of its own, and leaves out what
// is overtaken: who hears progress must not block (host.Request), and a process may not
// read. end waits until nothing more is told.
func (p *peer) latest(id uint64) (tell func(host.Progress), end func()) {
	news, done := make(chan host.Progress, 1), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case n := <-news:
				p.send(opProgress, id, pack(n))
			case <-done:
				return
			}
		}
	})
	tell = func(n host.Progress) { // one call after the other
		select {
		case <-news:
		default:
		}
		select {
		case news <- n:
		default:
		}
	}
	return tell, func() { close(done); telling.Wait() }
}

func (p *peer) run(ctx context.Context, id uint64, r runRequest, session string) (any, error) {
	s := host.ScriptRequest{
		Source: r.Source, Args: r.Args, ID: r.ID, Limits: r.Limits, Deterministic: r.Deterministic, Now: r.Now,
		Owner: r.Owner, Session: r.Session, DryRun: r.DryRun, Meta: r.Meta,
	}
	if r.Narrow {
		s.Patterns = append([]string{}, r.Patterns...)
	}
	if s.Session == "" {
		s.Session = session
	}
	if r.Consent {
		s.Consent = p.consenter(id)
	}
	if r.Asks {
		s.AskFor = func(tool string) host.Asker { return p.asker(id, tool) }
	}
	if r.Watched {
		s.OnCall = func(c host.ScriptCall) { p.send(opScriptCall, id, pack(c)) }
	}
	return p.server.Host.Run(ctx, s)
}

func (p *peer) consenter(id uint64) host.Consenter {
	return func(ctx context.Context, q host.ConsentQuestion) (host.ConsentAnswer, error) {
		a, err := p.ask(ctx, opConsent, id, question{Consent: q})
		return a.Consent, err
	}
}

func (p *peer) asker(id uint64, tool string) host.Asker {
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		a, err := p.ask(ctx, opAsk, id, question{Tool: tool, Method: method, Params: params})
		return a.Result, err
	}
}

// ask puts a question to the process about what it began as id.
func (p *peer) ask(ctx context.Context, op byte, id uint64, q question) (answer, error) {
	said := make(chan answer, 1)
	p.mu.Lock()
	p.last++
	q.ID = p.last
	p.asked[q.ID] = said
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, q.ID)
	}()
	p.send(op, id, pack(q))
	select {
	case a := <-said:
		if a.Failed != nil {
			return a, a.Failed.error()
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (p *peer) answered(body []byte) {
	var a answer
	if unpack(body, &a) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if said := p.asked[a.ID]; said != nil {
		delete(p.asked, a.ID)
		said <- a
	}
}

// reply says how something ended.
func (p *peer) reply(id uint64, v any, err error) {
	if err != nil {
		p.send(opFailed, id, pack(packError(err)))
		return
	}
	p.send(opDone, id, pack(v))
}

// send says something. To whom it cannot be said, the connection has ended.
func (p *peer) send(op byte, id uint64, body []byte) {
	if err := p.s.write(op, id, body); err != nil && !errors.Is(err, net.ErrClosed) {
		p.s.conn.Close()
	}
}
