package mcp

import (
	"context"
	"sync"
	"time"
)

const (
	// levelWait is how long calls wait until a session has its log level: a server
	// answers that from memory, and one that never answers must not keep them.
	levelWait = 2 * time.Second
	// levelTimeout bounds the request itself, which may reach a server that starts.
	levelTimeout = 30 * time.Second
)

// levelPending makes calls wait for the log level of a session that comes next,
// until pending.over.
func (c *Client) levelPending() *levelPending {
	p := &levelPending{told: make(chan struct{})}
	p.over = sync.OnceFunc(func() { close(p.told) })
	if c.opt.LogLevel != "" {
		c.level.Store(p)
	}
	return p
}

type levelPending struct {
	told chan struct{}
	over func()
}

// tellLevel tells the server of a new session what to send messages of, beside
// what else is asked of it.
func (c *Client) tellLevel(p *levelPending) {
	server := c.server.Load()
	if c.opt.LogLevel == "" || server.Modern || member(server.Capabilities, "logging") == nil {
		p.over()
		return
	}
	late := time.AfterFunc(levelWait, p.over)
	c.work.Go(func() {
		defer p.over()
		defer late.Stop()
		ctx, cancel := context.WithTimeout(c.base, levelTimeout)
		defer cancel()
		_, f := c.link.do(ctx, request{method: "logging/setLevel", write: func(b []byte, _ uint64) []byte {
			return append(appendString(append(b, `{"level":`...), c.opt.LogLevel), '}')
		}})
		if f != nil {
			c.opt.Log.Debug("the server takes no log level", "error", f)
		}
	})
}

// awaitLevel waits with what runs a server's code until its session has the log
// level.
func (c *Client) awaitLevel(ctx context.Context, method string) {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
	default:
		return
	}
	if p := c.level.Load(); p != nil {
		select {
		case <-p.told:
		case <-ctx.Done():
		}
	}
}
