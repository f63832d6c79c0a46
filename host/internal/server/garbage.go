package server

import (
	"runtime"
	"runtime/metrics"
	"sync"
)

// collectAfter is how many bytes of large results arrive before garbage is collected
// ahead of the next one. Go collects by itself when the heap has doubled. A result of
// 10 MiB counts twice there, with the buffers that it came in, so five in a row would
// raise the peak by 50 MiB, most of it results that nobody has any more. Collecting
// costs a few hundredths of the time that so many bytes take to arrive.
const collectAfter = 8 << 20

// garbage counts the large results that this process has received since its last
// collection, whoever began that.
type garbage struct {
	mu     sync.Mutex
	cycles uint64 // collections so far
	bytes  uint64
}

// received is the process's own, as the heap is.
var received garbage

// expect is told of a large result before it is received.
func (g *garbage) expect(bytes uint64) {
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	if g.due(bytes, cycles[0].Value.Uint64()) {
		runtime.GC()
	}
}

// due counts a result in a process that has had so many collections, and says whether
// there should be another one before it.
func (g *garbage) due(bytes, cycles uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cycles != g.cycles {
		g.cycles, g.bytes = cycles, 0
	}
	due := g.bytes >= collectAfter
	if due {
		g.bytes = 0
	}
	g.bytes += bytes
	return due
}
