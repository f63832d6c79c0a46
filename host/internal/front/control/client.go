package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrOther is that the host is of another build of this program.
var ErrOther = errors.New("the running host is another build of collet")

// SilentError is that there is a host that does not answer in time.
type SilentError struct{ Pid int } // 0 where the system does not say which process it is

func (e *SilentError) Error() string {
	if e.Pid == 0 {
		return "the host of this configuration does not answer"
	}
	return fmt.Sprintf("the host of this configuration (pid %d) does not answer", e.Pid)
}

// RefusedError is that there is a host that does not serve this process, and why.
type RefusedError struct{ err error }

func (e *RefusedError) Error() string { return e.err.Error() }
func (e *RefusedError) Unwrap() error { return e.err }

// Silent reports whether an error is that a host does not answer.
func Silent(err error) bool {
	_, silent := errors.AsType[*SilentError](err)
	return silent
}

// Client uses a host of another process.
type Client struct {
	s       *stream
	Welcome Welcome
	again   func(context.Context) (*Client, error) // connects to the same place

	next  atomic.Uint64
	heard atomic.Int64 // messages of the host
	work  sync.WaitGroup

	mu     sync.Mutex
	calls  map[uint64]*pending
	closed chan struct{}
	err    error // why it is closed
	lent   bool  // the connection is a client's of MCP
	waits  bool  // for the host's end, which takes as long as it takes
	dead   bool  // the host has not answered for too long
}

// pending is something that was begun and has not ended.
type pending struct {
	news  func(message) // told in order
	ended chan message
}

// Dial connects to the host that owns the place. The error is that there is none,
// a *SilentError when it does not answer before ctx ends, within a second when that has no end
// of its own, a *RefusedError, or ErrOther.
func Dial(ctx context.Context, place Place, build string) (*Client, error) {
	return dial(ctx, place, build, native())
}

func dial(ctx context.Context, place Place, build string, via transport) (*Client, error) {
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, helloWait)
		defer cancel()
		ctx = limited
	}
	conn, err := via.dial(ctx, place)
	if errors.Is(err, syscall.EAGAIN) { // it has not taken those who came before (unix(7))
		err = new(SilentError)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the running host: %w", err)
	}
	c := &Client{s: newStream(conn), calls: map[uint64]*pending{}, closed: make(chan struct{})}
	c.again = func(ctx context.Context) (*Client, error) { return dial(ctx, place, build, via) }
	c.work.Go(c.read)
	body, err := c.do(ctx, opHello, pack(hello{build}), nil)
	if _, lost := errors.AsType[*errLost](err); err != nil && !lost && ctx.Err() == nil {
		err = &RefusedError{err}
	}
	var g greeting
	if err == nil {
		err = unpack(body, &g)
	}
	if err == nil && g.Build == build {
		err = unpack(body, &c.Welcome)
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = &SilentError{processOf(conn)}
		}
		c.Close()
		return nil, fmt.Errorf("reach the running host: %w", err)
	}
	if g.Build != build {
		c.Welcome = Welcome{Build: g.Build, Version: g.Version, Pid: g.Pid, Since: g.Since}
		return c, ErrOther
	}
	c.work.Go(c.watch)
	return c, nil
}

// Close ends the connection, and what was begun over it.
func (c *Client) Close() error {
	c.end(net.ErrClosed)
	c.work.Wait()
	return nil
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.closed)
		c.s.conn.Close()
	}
}

// read passes on what the host says until it ends.
func (c *Client) read() {
	for {
		m, err := c.s.read()
		if err != nil {
			c.end(err)
			return
		}
		c.heard.Add(1)
		c.mu.Lock()
		p := c.calls[m.id]
		lent := c.lent && m.op == opDone
		c.mu.Unlock()
		switch {
		case p == nil: // it was given up
		case m.op == opDone || m.op == opFailed:
			p.ended <- m
			if lent {
				return // whoever has the connection reads it
			}
		case p.news != nil:
			p.news(m)
		}
	}
}

// watch ends the connection to a host that does not run any more.
func (c *Client) watch() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	last := c.heard.Load()
	for unanswered := 0; ; unanswered++ {
		select {
		case <-c.closed:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		lent := c.lent || c.waits
		if heard := c.heard.Load(); heard != last {
			last, unanswered = heard, 0
		}
		c.dead = unanswered >= int(deadAfter/pingEvery)-1
		dead := c.dead
		c.mu.Unlock()
		if lent {
			return // its end is whoever has it to see
		}
		if dead {
			c.end(fmt.Errorf("the running host (pid %d) has not answered for %s", c.Welcome.Pid, deadAfter))
			return
		}
		if err := c.s.write(opPing, c.next.Add(1), nil); err != nil {
			c.end(err)
			return
		}
	}
}

// errLost is that the connection ended.
type errLost struct {
	pid int
	err error
}

func (e *errLost) Error() string {
	return fmt.Sprintf("the connection to the running host (pid %d) ended: %v", e.pid, e.err)
}

// do begins something and waits for its end. news is told what comes before, in
// order, on the goroutine that reads, and must not block.
func (c *Client) do(ctx context.Context, op byte, body []byte, news func(message)) ([]byte, error) {
	p := &pending{news: news, ended: make(chan message, 1)}
	id := c.next.Add(1)
	c.mu.Lock()
	c.calls[id] = p
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
	}()
	if err := c.s.write(op, id, body); err != nil {
		c.end(err)
	}
	select {
	case m := <-p.ended:
		return outcome(m)
	case <-c.closed:
		return c.lost(p)
	case <-ctx.Done():
	}
	if op == opHello || op == opStdio { // nothing that could be canceled
		return nil, ctx.Err()
	}
	_ = c.s.write(opCancel, id, nil) // what it says about that is better than nothing
	limit := time.NewTimer(cancelWait)
	defer limit.Stop()
	select {
	case m := <-p.ended:
		return outcome(m)
	case <-c.closed:
		return c.lost(p)
	case <-limit.C:
		return nil, ctx.Err()
	}
}

// lost is the end of what had not ended when the connection did.
func (c *Client) lost(p *pending) ([]byte, error) {
	select {
	case m := <-p.ended:
		return outcome(m)
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return nil, &errLost{c.Welcome.Pid, c.err}
}

func outcome(m message) ([]byte, error) {
	if m.op == opDone {
		return m.body, nil
	}
	var f failed
	if err := unpack(m.body, &f); err != nil {
		return nil, err
	}
	return nil, f.error()
}
