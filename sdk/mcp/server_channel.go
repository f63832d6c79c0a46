package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// maxServing bounds the requests of one client that are served at a time.
	maxServing = 1024
	// drainLimit is how long requests that are being served when a client has no more
	// to say may still take: a script that pipes its requests in wants the answers, and
	// a client that is gone is not missed for that long.
	drainLimit = 30 * time.Second
	// lastWords is how long a client has to read what is left for it.
	lastWords = 5 * time.Second
)

// channel is a client whom everything is told on one stream: over stdio, or over
// HTTP+SSE. Both eras may be spoken on it at once.
type channel struct {
	s       *Server
	out     *writer
	frame   func(message []byte) []byte // what it looks like on the stream
	answers *answers
	base    context.Context
	stop    context.CancelFunc
	closing chan struct{} // closed when nothing new is served
	who     Caller        // what is known of every caller here

	mu       sync.Mutex
	client   *client // nil before initialize
	listener *listener
}

func (s *Server) newChannel(ctx context.Context, out *writer, frame func([]byte) []byte, who Caller) *channel {
	c := &channel{s: s, out: out, frame: frame, who: who, closing: make(chan struct{})}
	c.base, c.stop = context.WithCancel(ctx)
	c.answers = newAnswers(c.base, maxServing)
	return c
}

// receive takes one message and answers it, sooner or later. who is what is known of
// whoever sent it.
func (c *channel) receive(b []byte, who *Caller) {
	if client := c.current(); client != nil && client.caller.Version == batchVersion {
		if messages := batchOf(b); messages != nil {
			for _, m := range messages {
				c.out.room()
				c.receiveOne(m, who, true)
			}
			return
		}
	}
	c.receiveOne(b, who, false)
}

func (c *channel) receiveOne(b []byte, who *Caller, inBatch bool) {
	e, refusal := readMessage(b)
	if method, _ := text(e.method); inBatch && refusal == nil && e.id != nil && method == "initialize" {
		refusal = failedResponse(e.id, errInBatch)
	}
	switch {
	case refusal != nil:
		for one := range bytes.Lines(refusal) { // of a batch there may be several
			c.answer(one)
		}
	case e.method == nil:
		if client := c.current(); client != nil {
			client.heard(e)
		}
	case e.id == nil:
		c.answers.notified(e)
	default:
		c.request(e, who)
	}
}

func (c *channel) current() *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

func (c *channel) request(e envelope, who *Caller) {
	d, err := newDemand(e)
	if err == nil {
		err = c.identify(d, who)
	}
	if err != nil {
		c.answer(failedResponse(e.id, err))
		return
	}
	if d.method == "initialize" && !d.caller.Modern {
		// At once, so that what follows is of this client.
		c.initialize(d)
		return
	}
	begin := c.answers.start
	if c.s.ready != nil && c.s.ready.Ready(d.caller, d.method) {
		begin = c.answers.do
	}
	refusal := begin(e.id, func(q *inquiry) {
		result, err := c.serve(q.ctx, d)
		c.out.room()
		if c.answers.close(q) {
			message, _ := c.s.answerTo(d, result, err)
			c.answer(message)
		}
	})
	if refusal != nil {
		c.answer(refusal)
	}
}

// identify says who makes a request.
func (c *channel) identify(d *demand, who *Caller) error {
	spoken, err := d.modern()
	if err != nil {
		return err
	}
	d.streamed, d.send = true, c.tell
	if spoken != "" {
		d.caller.Principal = who.Principal
		return nil
	}
	d.client = c.current()
	switch {
	case d.client != nil:
		d.caller, d.level = d.client.caller, d.client.logLevel()
		if who.Principal != nil {
			d.caller = d.client.as(who.Principal)
		}
		if d.client.mayAsk() {
			d.ask = c.ask(d.client)
		}
	case d.method == "initialize", d.method == "ping":
		d.caller = who
	default:
		return &WireError{Code: codeInvalidParams, Message: "Invalid params: _meta member " + metaPrefix + "protocolVersion is missing, and there was no initialize"}
	}
	return nil
}

func (c *channel) initialize(d *demand) {
	client, err := d.newClient()
	if err != nil {
		c.answer(failedResponse(d.id, err))
		return
	}
	client.caller.Session, client.caller.Principal = c.who.Session, d.caller.Principal // now is the same one
	client.asks = newSession(c, c.s.opt.Log, nil)
	message, _ := c.s.answerTo(d, c.s.initialize(c.base, client.caller), nil)
	listener := client.listen(c.tell)
	c.mu.Lock()
	before, told := c.client, c.listener
	c.client, c.listener = client, listener
	c.mu.Unlock()
	if before != nil {
		c.s.dismiss(told)
		before.leave()
	}
	c.answer(message)
	c.s.attend(listener)
}

func (c *channel) serve(ctx context.Context, d *demand) (json.RawMessage, error) {
	if d.caller.Modern && d.method == "subscriptions/listen" {
		u, err := c.s.subscribe(ctx, d, c.tell)
		if err != nil {
			return nil, err
		}
		return c.s.follow(ctx, u, c.closing), nil
	}
	return c.s.handle(ctx, d)
}

func (c *channel) ask(client *client) asker {
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		r, call, f := client.begin(ctx, method, params)
		if f != nil {
			return nil, f
		}
		_ = c.enqueue(&call.outgoing) // an error is the channel's end, which answers
		return client.finish(ctx, r, call)
	}
}

// answer sends what is waited for.
func (c *channel) answer(message []byte) { _ = c.out.enqueue(&outgoing{message: c.frame(message)}) }

// tell sends what may be lost.
func (c *channel) tell(message []byte) {
	_ = c.out.enqueue(&outgoing{message: c.frame(message), reply: true})
}

// enqueue implements sender for the questions to the client.
func (c *channel) enqueue(o *outgoing) error {
	o.message = c.frame(o.message)
	return c.out.enqueue(o)
}

// withdraw implements sender.
func (c *channel) withdraw(o *outgoing) bool { return c.out.withdraw(o) }

// drain ends what only the client could end, takes no more requests, and gives those
// being served until ctx ends, drainLimit at most.
func (c *channel) drain(ctx context.Context) {
	close(c.closing)
	c.answers.drain()
	if client := c.current(); client != nil {
		client.unheard()
	}
	idle := make(chan struct{})
	go func() { // leave waits for the same
		defer close(idle)
		c.answers.running.Wait()
	}()
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// leave ends the channel: what goes on is cancelled, and nobody is there to answer
// to.
func (c *channel) leave() {
	c.out.finish()
	c.stop()
	c.answers.end()
	c.mu.Lock()
	client, listener := c.client, c.listener
	c.mu.Unlock()
	if client != nil {
		c.s.dismiss(listener)
		client.leave()
	}
	c.answers.running.Wait()
}
