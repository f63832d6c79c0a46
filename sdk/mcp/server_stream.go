package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// writeLimit is how long a client may not read any of a response before it counts
	// as gone, and writePiece how many bytes it has to take in that time.
	writeLimit = 30 * time.Second
	writePiece = 256 << 10
	// maxKept bounds what is kept of one stream for a client that comes back, in
	// bytes, besides the last message; maxAllKept what is kept of all streams.
	maxKept    = 1 << 20
	maxAllKept = 64 << 20
	// maxSettled bounds what is kept of a stream that was written to its end: the
	// client has most likely read it.
	maxSettled = 64 << 10
)

// steadyWriter writes a response to a client that has to go on reading. Between the
// events of a stream there is no deadline: HTTP/2 would end the stream with it.
type steadyWriter struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	stream bool // every write is sent at once
}

func (s steadyWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		s.within(writeLimit)
		var k int
		k, err = s.w.Write(p[n:min(len(p), n+writePiece)])
		n += k
	}
	if s.stream {
		if err == nil {
			err = s.rc.Flush()
		}
		s.within(0)
	}
	return n, err
}

// Close implements io.Closer: what net/http has buffered has its limit, too. It lifts
// the deadline itself when that is written.
func (s steadyWriter) Close() error {
	s.within(writeLimit)
	return nil
}

// within bounds writing; 0 is no bound. A ResponseWriter without deadlines has a
// server that bounds writes by itself.
func (s steadyWriter) within(d time.Duration) {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = s.rc.SetWriteDeadline(at)
}

// startEvents sends the header of an event stream, and returns what writes the rest.
func startEvents(w http.ResponseWriter) steadyWriter {
	h := w.Header()
	h["Content-Type"] = eventsType
	h["Cache-Control"] = []string{"no-cache, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would hold events back
	s := steadyWriter{w: w, rc: http.NewResponseController(w), stream: true}
	s.within(writeLimit)
	w.WriteHeader(http.StatusOK)
	_ = s.rc.Flush() // an error comes again with the first write
	s.within(0)
	return s
}

// eventOf is a message, which ends in a newline, as one event.
func eventOf(message []byte) []byte {
	b := make([]byte, 0, len(message)+8)
	b = append(append(b, "data: "...), message...)
	return append(b, '\n')
}

var comment = []byte(":\n\n")

// stream is what a client is sent on one event stream. A stream of a legacy session
// numbers its events and keeps them for a client that lost its connection and comes
// back (2025-11-25, Streamable HTTP, Resumability and Redelivery).
type stream struct {
	number uint64        // in the session; 0 keeps nothing
	all    *atomic.Int64 // bytes kept of all streams

	mu     sync.Mutex
	out    *writer // nil while nobody reads
	kept   [][]byte
	first  int // number of kept[0], from 1
	bytes  int
	over   bool // the last message was sent
	gone   bool // nobody can come back
	failed bool // a reader was lost
}

// tell sends what may be lost where the client does not read.
func (t *stream) tell(message []byte) { t.put(message, true, false) }

// say sends what is waited for.
func (t *stream) say(message []byte) { t.put(message, false, false) }

// end sends the stream's last message; nil ends it without one.
func (t *stream) end(message []byte) { t.put(message, false, true) }

func (t *stream) put(message []byte, mayLose, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = last
	if message != nil {
		var e []byte
		if t.number != 0 && !t.gone {
			e = t.keep(append(t.id(t.first+len(t.kept)), eventOf(message)...))
		} else {
			e = eventOf(message)
		}
		if t.out != nil {
			_ = t.out.enqueue(&outgoing{message: e, reply: mayLose})
		}
	}
	if last && t.out != nil {
		t.out.finish()
	}
}

// prime sends an event without a message, whose id a client can come back with
// before there is a first message (2025-11-25, Streamable HTTP).
func (t *stream) prime() { t.keep(append(t.id(t.first), "data:\n\n"...)) }

func (t *stream) keep(e []byte) []byte {
	t.kept = append(t.kept, e)
	t.count(len(e))
	for len(t.kept) > 1 && t.bytes > maxKept || len(t.kept) > 0 && t.all.Load() > maxAllKept {
		t.count(-len(t.kept[0]))
		t.kept[0] = nil
		t.kept = t.kept[1:]
		t.first++
	}
	return e
}

func (t *stream) count(bytes int) {
	t.bytes += bytes
	t.all.Add(int64(bytes))
}

// forget keeps nothing any more.
func (t *stream) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.drop()
}

func (t *stream) drop() {
	t.first += len(t.kept)
	t.kept = nil
	t.count(-t.bytes)
}

func (t *stream) id(n int) []byte {
	b := strconv.AppendUint([]byte("id: "), t.number, 10)
	b = strconv.AppendInt(append(b, '-'), int64(n), 10)
	return append(b, '\n')
}

// attach makes out the one that reads the stream, from after the event of that
// number on; 0 is from the beginning. Whoever read it before reads no more.
func (t *stream) attach(out *writer, after int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out != nil {
		t.out.finish()
	}
	t.out = out
	for i, e := range t.kept {
		if t.first+i > after {
			_ = out.enqueue(&outgoing{message: e})
		}
	}
	if t.over {
		out.finish()
	}
}

// fail says that what was written may not have been read.
func (t *stream) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// detach says that out reads no more.
func (t *stream) detach(out *writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out.finish()
	if t.out != out {
		return
	}
	t.out = nil
	if t.over && !t.failed && t.bytes > maxSettled {
		t.drop()
	}
	t.failed = false
}

// read says whether somebody reads it.
func (t *stream) read() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out != nil
}

// run is the reading end: it writes the stream to w, with a comment wherever it
// would be silent for long, until out is finished, the client is gone or the server
// has no time left.
func (s *Server) run(out *writer, gone <-chan struct{}) {
	beat := time.NewTicker(s.opt.KeepAlive)
	defer beat.Stop()
	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		for {
			select {
			case <-beat.C:
				_ = out.enqueue(&outgoing{message: comment, reply: true})
			case <-gone:
				out.finish()
				return
			case <-s.base.Done():
				out.finish()
				return
			case <-done:
				return
			}
		}
	})
	out.run()
	close(done)
	beside.Wait()
}
