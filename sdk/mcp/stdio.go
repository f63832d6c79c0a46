package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// stdio is the link to a server that is a child process.
type stdio struct {
	process *process
	session *session
	grace   time.Duration
	gone    chan struct{} // closed when nothing of the connection is left
}

// Start starts a server, finds out its era and shakes hands with it. ctx bounds
// all of that and nothing after. The error is a *failure.Failure: whatever
// happened, no tool was called, so its delivery is NotSent unless the server
// answered. After an error nothing of the server is left running.
func Start(ctx context.Context, cmd Command, opt Options) (*Client, error) {
	opt = opt.withDefaults()
	if f := checkObject("the client's capabilities", opt.Capabilities); f != nil {
		return nil, f
	}
	c, f := start(cmd, opt)
	if f != nil {
		return nil, f
	}
	f = c.handshake(ctx, !opt.SkipProbe)
	if f != nil && !opt.SkipProbe && ctx.Err() == nil && c.diedProbing(f) {
		opt.Log.Debug("the server ended when probed; starting it again without the probe")
		abandon(c)
		if c, f = start(cmd, opt); f != nil {
			return nil, f
		}
		f = c.handshake(ctx, false)
	}
	if f != nil {
		p := c.link.(*stdio).process
		f = startFailure(f, p.lines.lastWords(), p.decoder.counts.onlyJunk())
		abandon(c)
		return nil, f
	}
	c.tellLevel(c.levelPending())
	c.subscribe()
	return c, nil
}

// start starts the process with a session on top.
func start(cmd Command, opt Options) (*Client, *failure.Failure) {
	p, f := startProcess(cmd, opt)
	if f != nil {
		return nil, f
	}
	c := newClient(opt)
	c.session = newSession(p.writer, opt.Log, opt.OnNotification)
	if opt.OnRequest != nil {
		c.session.answerWith(opt.OnRequest)
	}
	l := &stdio{process: p, session: c.session, grace: opt.StopGrace, gone: make(chan struct{})}
	c.link = l
	p.decoder = &decoder{to: c.session, log: opt.Log, max: wire.MaxLine, counts: &counts{}}
	p.onEnd = c.end
	go func() { // close waits for it
		defer close(l.gone)
		p.run()
		if a := c.session.answers; a != nil {
			a.running.Wait()
		}
		c.work.Wait()
	}()
	return c, nil
}

// abandon ends a server that failed its handshake; there is nothing to wait for
// politely.
func abandon(c *Client) {
	c.link.(*stdio).process.hasten()
	_ = c.Close(context.Background())
}

func (l *stdio) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	return l.session.do(ctx, r)
}

func (l *stdio) established(_ context.Context, server ServerInfo) *failure.Failure {
	if !server.Modern {
		l.session.notification("notifications/initialized", nil)
	}
	return nil
}

func (l *stdio) close(ctx context.Context) error {
	l.process.close()
	select {
	case <-l.gone:
		return nil
	case <-ctx.Done():
		l.process.hasten()
	case <-time.After(2*l.grace + killWait + time.Second):
	}
	select {
	case <-l.process.gone: // what goes on, if so, is the caller's own OnRequest
		return nil
	case <-time.After(killWait + time.Second):
		return failure.New(failure.Timeout, failure.DeliveryUnknown, "process %d of the server cannot be killed", l.process.cmd.Process.Pid)
	}
}

func (l *stdio) stats() Stats { return statsOf(l.process.decoder.counts, l.session) }

func (l *stdio) tail() []string { return l.process.lines.last() }
