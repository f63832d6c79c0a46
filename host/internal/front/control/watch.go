package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/collet-dev/collet/host"
)

// News is that something happened to a server of the host, as far as a person who
// watches cares.
type News struct {
	Server string
	State  string // its new state, or empty
	// Begun and Ended are calls, or requests that a front passed on. Class is why one
	// failed, and Failed that the tool says so itself.
	Begun, Ended bool
	Tool, Class  string
	Failed       bool
	// Lost is how much of the news before this there was no time to tell. It comes with
	// what is told next, or alone when there is nothing.
	Lost int
}

type restartRequest struct{ Server string }

// attendRequest names a session of MCP.
type attendRequest struct{ Session string }

// newsQueue is how much news waits for a client that does not read.
const newsQueue = 4096

// newsOf is what of an event is told. A call may be of a server that is none.
func newsOf(e host.Event) (News, bool) {
	switch {
	case e.ServerChanged != nil:
		return News{Server: e.ServerChanged.Server, State: e.ServerChanged.State}, true
	case e.ConfigChanged != nil:
		return News{}, true
	case e.CallStarted != nil:
		return News{Server: e.CallStarted.Server, Tool: e.CallStarted.Tool, Begun: true}, true
	case e.CallFinished != nil:
		f := e.CallFinished
		return News{Server: f.Server, Tool: f.Tool, Ended: true, Class: f.Class, Failed: f.IsError}, true
	}
	return News{}, false
}

// watch tells a client the news until it has enough. A host that is busy does not wait
// for one that reads slowly.
func (p *peer) watch(ctx context.Context, id uint64) {
	queue := make(chan News, newsQueue)
	var mu sync.Mutex
	lost := 0
	stop := p.server.Host.Subscribe(func(e host.Event) {
		n, ok := newsOf(e)
		if !ok {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		n.Lost = lost
		select {
		case queue <- n:
			lost = 0
		default:
			lost++
		}
	})
	defer stop()
	p.send(opNews, id, pack(News{})) // it is listened from here on
	for {
		select {
		case n := <-queue:
			p.send(opNews, id, pack(n))
			mu.Lock()
			last := News{Lost: lost}
			if len(queue) > 0 {
				last.Lost = 0 // what waits tells of it
			} else {
				lost = 0
			}
			mu.Unlock()
			if last.Lost > 0 {
				p.send(opNews, id, pack(last))
			}
		case <-ctx.Done():
			p.reply(id, nil, ctx.Err())
			return
		}
	}
}

// Watch tells hear what happens to the servers of the host until ctx ends, the first
// time as soon as it listens. The error is that of ctx, or that the host has ended.
// hear must not block.
func (c *Client) Watch(ctx context.Context, hear func(News)) error {
	_, err := c.do(ctx, opWatch, nil, func(m message) {
		var n News
		if m.op == opNews && unpack(m.body, &n) == nil {
			hear(n)
		}
	})
	if lost, ok := errors.AsType[*errLost](err); ok && closedThere(lost.err) {
		return fmt.Errorf("the running host (pid %d) has ended", lost.pid)
	}
	return err
}

// closedThere reports whether a connection ended because the other end closed it, as a
// host does that ends; what was on the way to it does not matter.
func closedThere(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Restart is Host.Restart.
func (c *Client) Restart(ctx context.Context, server string) error {
	return c.get(ctx, opRestart, restartRequest{server}, nil)
}
