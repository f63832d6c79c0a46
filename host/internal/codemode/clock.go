package codemode

import (
	"sync"
	"time"
)

// clock runs out when a script has had its time. It stands still while any call
// waits for a person.
type clock struct {
	mu      sync.Mutex
	left    time.Duration
	since   time.Time // when it began to run; zero while it stands
	resting int
	timer   *time.Timer
	over    chan struct{}
}

func newClock(d time.Duration) *clock {
	c := &clock{left: d, since: time.Now(), over: make(chan struct{})}
	c.timer = time.AfterFunc(d, func() { close(c.over) })
	return c
}

// rest stops the clock until every rest has ended.
func (c *clock) rest() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting++; c.resting == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
		c.since = time.Time{}
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.resting--; c.resting == 0 && c.since.IsZero() {
			c.since = time.Now()
			c.timer.Reset(max(c.left, 0))
		}
	})
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting++ // no rest of a call that is still ending starts it again
	c.timer.Stop()
}
