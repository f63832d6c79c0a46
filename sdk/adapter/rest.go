package adapter

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// restAfter is how long after the end of its last call a process rests: long
// enough that steady callers never notice, short beside the hours an adapter is
// kept for.
const restAfter = 10 * time.Second

// rest gives memory back when calls have stopped for a while. Go keeps what a
// heap once needed, 4 MiB at the least, and of the dozens of adapters that a host
// keeps few are busy. A nil rest does nothing.
type rest struct {
	running atomic.Int64
	timer   *time.Timer
}

// newRest calls release restAfter from now and from the end of every call,
// unless there is a newer one.
func newRest(release func()) *rest {
	r := &rest{}
	r.timer = time.AfterFunc(restAfter, func() {
		if r.running.Load() == 0 {
			release()
		}
	})
	return r
}

func (r *rest) begin() {
	if r != nil {
		r.running.Add(1)
	}
}

func (r *rest) end() {
	if r != nil && r.running.Add(-1) == 0 {
		r.timer.Reset(restAfter)
	}
}

// freeMemory collects twice, because a sync.Pool lets go of what it keeps in two
// steps, and returns to the system what is free then.
func freeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}
