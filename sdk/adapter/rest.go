package adapter

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// freeMemory gives back what can be given back now.
func freeMemory() {
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	giveBack(cycles[0].Value.Uint64(), func() {
		// Twice, because a sync.Pool lets go of what it keeps in two steps.
		runtime.GC()
		debug.FreeOSMemory()
	})
}

// giveBack calls free in a process that has collected garbage so many times before.
// One that never has is below the 4 MiB at which Go begins to; its first collection
// would take up more, for its own books and for good, than there is to give back.
func giveBack(cycles uint64, free func()) {
	if cycles > 0 {
		free()
	}
}
