package guard

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// bodyTime is how long a whole request body may take. The most bytes that are
	// allowed by default come through 0.6 Mbit/s in it.
	bodyTime = 60 * time.Second
	// refusedBodyTime is the same for a request that is refused: nobody reads it.
	refusedBodyTime = 2 * time.Second
	// writeTime is how long one write may wait for a client that does not read. A
	// stream as a whole has no limit.
	writeTime = 30 * time.Second
)

// deadlines keeps a client that stalls from holding on to the process: its body has
// to arrive in time, and every write of the answer to be taken. The server's own
// WriteTimeout would end streams; net/http lifts the deadline of reading once the
// body is there.
func (g *Guard) deadlines(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, func()) {
	control := http.NewResponseController(w)
	// Errors mean a writer without a connection, as in tests: nothing to bound.
	if r.Body != nil && r.Body != http.NoBody {
		_ = control.SetReadDeadline(time.Now().Add(g.bodyTime))
	}
	return &timedWriter{w, control, g.writeTime}, func() {
		// For what net/http has buffered; it lifts this one too when that is written.
		_ = control.SetWriteDeadline(time.Now().Add(g.writeTime))
	}
}

// timedWriter gives each write its time.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
}

// bounded begins the time of a write and returns what ends it. Between writes there
// is no deadline: a stream of HTTP/2 does not survive one, even when nothing is
// being written.
func (w *timedWriter) bounded() (end func()) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.time))
	return func() { _ = w.control.SetWriteDeadline(time.Time{}) }
}

func (w *timedWriter) Write(p []byte) (int, error) {
	defer w.bounded()()
	return w.ResponseWriter.Write(p)
}

// Flush is what streams have each event sent with.
func (w *timedWriter) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController calls.
func (w *timedWriter) FlushError() error {
	defer w.bounded()()
	return w.control.Flush()
}

// Unwrap leads http.ResponseController to the connection.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// countedBody tells once that a body was larger than allowed. The handler gets the
// *http.MaxBytesError and answers.
type countedBody struct {
	io.ReadCloser
	tooLarge func()
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, over := errors.AsType[*http.MaxBytesError](err); over && b.tooLarge != nil {
		b.tooLarge()
		b.tooLarge = nil
	}
	return n, err
}
