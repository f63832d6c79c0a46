package launch

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

const (
	// tailLines is how many lines of stderr are kept for crash reports: a Go
	// panic with a few goroutines fits.
	tailLines = 64
	// maxQueued bounds, in bytes, the lines that wait for a slow OnStderr.
	// Beyond it lines are dropped and counted, because the alternative is to
	// stop reading, and then the plugin blocks in its next log line.
	maxQueued = 4 << 20
	// flushWait bounds how long an ended process waits for OnStderr to take the
	// lines that are still queued.
	flushWait = time.Second
)

// output is what a plugin prints, as lines: it keeps the last ones and passes
// each to the owner's callback, one at a time, without ever making the plugin
// wait for it.
type output struct {
	onLine func([]byte)

	mu      sync.Mutex
	ring    [tailLines][]byte
	total   int
	queue   [][]byte
	queued  int
	dropped int
	closed  bool
	wake    chan struct{}
	idle    chan struct{} // closed when the delivering goroutine has ended
}

func newOutput(onLine func([]byte)) *output {
	o := &output{onLine: onLine, wake: make(chan struct{}, 1), idle: make(chan struct{})}
	if onLine == nil {
		close(o.idle)
	} else {
		go o.deliver()
	}
	return o
}

// line takes one line; it copies it and never blocks. Lines that come after
// close are dropped.
func (o *output) line(b []byte) {
	kept := bytes.Clone(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.ring[o.total%tailLines] = kept
	o.total++
	if o.onLine == nil {
		return
	}
	if o.queued+len(kept) > maxQueued {
		o.dropped++
	} else {
		o.queue = append(o.queue, kept)
		o.queued += len(kept)
	}
	o.signal()
}

func (o *output) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *output) deliver() {
	defer close(o.idle)
	for range o.wake {
		for {
			o.mu.Lock()
			batch, dropped, closed := o.queue, o.dropped, o.closed
			o.queue, o.queued, o.dropped = nil, 0, 0
			o.mu.Unlock()
			for _, line := range batch {
				o.onLine(line)
			}
			if dropped > 0 {
				o.onLine(fmt.Appendf(nil, "[%d lines dropped: the reader of this log was too slow]", dropped))
			}
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
		}
	}
}

// close ends delivery once the queued lines are out, or flushWait has passed.
func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
	timer := time.NewTimer(flushWait)
	defer timer.Stop()
	select {
	case <-o.idle:
	case <-timer.C:
	}
}

// tail returns the last lines, oldest first.
func (o *output) tail() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := min(o.total, tailLines)
	tail := make([]string, 0, kept)
	for i := o.total - kept; i < o.total; i++ {
		tail = append(tail, string(o.ring[i%tailLines]))
	}
	return tail
}

// lineWriter is an io.Writer in front of lines.
type lineWriter struct{ split lines }

func (w *lineWriter) Write(b []byte) (int, error) {
	w.split.write(b)
	return len(b), nil
}
