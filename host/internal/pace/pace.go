// Package pace keeps a process that mostly waits on one processor, as long as its
// work comes one piece at a time, and gives it all of them when it does not. Between
// processors a piece of work that goes from goroutine to goroutine costs a wake-up
// each time: a call through a front takes an eighth less on one. It measures nothing
// but how many pieces are under way.
package pace

import (
	"runtime"
	"sync"
	"time"
)

// quiet is how long no two pieces may have been under way before one processor is
// enough. Changing the number stops the world for some 20 us, so not more often.
const quiet = time.Second

// Pace is told of work. Safe for concurrent use.
type Pace struct {
	mu      sync.Mutex
	set     func(one bool)
	working int
	busy    bool // two at once since the timer was set
	one     bool
	closed  bool
	timer   *time.Timer // runs while all processors are there
}

// New returns a pace for this process, which has all processors until it has been
// quiet. Where GOMAXPROCS in the environment, or the machine, allows one alone it does
// nothing.
func New() *Pace {
	return start(func(one bool) {
		if one {
			runtime.GOMAXPROCS(1)
		} else {
			runtime.SetDefaultGOMAXPROCS()
		}
	}, runtime.GOMAXPROCS(0) > 1)
}

func start(set func(one bool), several bool) *Pace {
	p := &Pace{set: set, closed: !several}
	if several {
		p.timer = time.AfterFunc(quiet, p.look)
	}
	return p
}

// Begin is told when a piece of work begins; End follows.
func (p *Pace) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working++
	if p.working > 1 {
		p.widenLocked()
	}
}

// End is told when a piece of work has ended.
func (p *Pace) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working--
}

// Burst is told of work that is done side by side by itself.
func (p *Pace) Burst() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.widenLocked()
}

// Close gives the process all processors, for good.
func (p *Pace) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.widenLocked()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *Pace) widenLocked() {
	p.busy = true
	if p.one && !p.closed {
		p.one = false
		p.set(false)
		p.timer.Reset(quiet)
	}
}

// look is whether it was quiet.
func (p *Pace) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || p.one:
	case p.busy || p.working > 1:
		p.busy = false
		p.timer.Reset(quiet)
	default:
		p.one = true
		p.set(true)
	}
}
