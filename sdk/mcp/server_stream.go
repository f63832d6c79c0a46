package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// writeLimit is how long a client may not read any of a response before it counts
	// as gone, and writePiece how many bytes it has to take in that time.
	writeLimit = 30 * time.Second
	writePiece = 256 << 10
	// maxKept bounds what is kept of one stream for a client that comes back, in
	// bytes, besides the last message.
	maxKept = 1 << 20
)

// steadyWriter writes a response to a client that has to go on reading.
type steadyWriter struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	stream bool // every write is sent at once
}

func (s steadyWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		// A ResponseWriter without deadlines has a server that bounds writes by itself.
		_ = s.rc.SetWriteDeadline(time.Now().Add(writeLimit))
		var k int
		k, err = s.w.Write(p[n:min(len(p), n+writePiece)])
		n += k
	}
	if err == nil && s.stream {
		err = s.rc.Flush()
	}
	return n, err
}

// Close implements io.Closer: the connection may carry another response.
func (s steadyWriter) Close() error {
	_ = s.rc.SetWriteDeadline(time.Time{})
	return nil
}

// startEvents sends the header of an event stream.
func startEvents(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = eventsType
	h["Cache-Control"] = []string{"no-cache, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
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
	number uint64 // in the session; 0 keeps nothing

	mu    sync.Mutex
	out   *writer // nil while nobody reads
	kept  [][]byte
	first int // number of kept[0], from 1
	bytes int
	over  bool // the last message was sent
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
		if t.number != 0 {
			e = t.keep(message)
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
func (t *stream) prime() {
	e := append(t.id(t.first+len(t.kept)), "data:\n\n"...)
	t.kept = append(t.kept, e)
	t.bytes += len(e)
}

func (t *stream) keep(message []byte) []byte {
	e := append(t.id(t.first+len(t.kept)), eventOf(message)...)
	t.kept = append(t.kept, e)
	t.bytes += len(e)
	for len(t.kept) > 1 && t.bytes > maxKept {
		t.bytes -= len(t.kept[0])
		t.kept[0] = nil
		t.kept = t.kept[1:]
		t.first++
	}
	return e
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

// detach says that out reads no more.
func (t *stream) detach(out *writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out == out {
		t.out = nil
	}
	out.finish()
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
