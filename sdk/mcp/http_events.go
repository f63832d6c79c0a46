package mcp

import (
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

const (
	// lingerLimit is how long the end of a stream is awaited after its answer. It
	// usually comes along with it, and then the connection can be used again.
	lingerLimit = 20 * time.Millisecond
	maxImpolite = 3
	// resumeDelay is the pause before a stream is taken up again when the server
	// names none (2025-11-25, Streamable HTTP, "retry"). What it names is bounded:
	// below, so that a server which ends every stream at once is not asked a thousand
	// times a second, and above, since a stray number must not eat the call's deadline.
	resumeDelay    = time.Second
	minResumeDelay = 50 * time.Millisecond
	maxResumeDelay = 30 * time.Second
	// maxResumes is how many attempts in a row may find nobody there.
	maxResumes = 5
)

// events reads the event stream that a request is answered with.
func (x *exchange) events(resp *http.Response) *failure.Failure {
	body := resp.Body
	defer func() { body.Close() }()
	var (
		id    string
		retry time.Duration
	)
	for {
		s := newSSEReader(body, wire.MaxLine)
		s.lastID, s.retry = id, retry
		err := x.stretch(s, resp.ProtoMajor >= 2)
		id, retry = s.lastID, s.retry
		s.release()
		if x.answered() {
			return nil
		}
		if f, ok := err.(*failure.Failure); ok {
			return f
		}
		if x.modern || id == "" || x.ctx.Err() != nil {
			return x.cutShort(err)
		}
		body.Close()
		next, f := x.resume(id, retry)
		if f != nil {
			return f
		}
		body, resp = next.Body, next
	}
}

// stretch reads events until the stream ends, or is of no use any more because
// the answer came.
func (x *exchange) stretch(s *sseReader, multiplexed bool) error {
	over := false
	for {
		e, err := s.next()
		if err != nil {
			switch {
			case over && err == io.EOF:
				x.l.impolite.Store(0)
			case over:
				x.l.impolite.Add(1)
			}
			return err
		}
		if err := x.event(e); err != nil {
			return err
		}
		if over || !x.answered() {
			continue
		}
		if multiplexed || x.l.impolite.Load() >= maxImpolite {
			return nil
		}
		over = true
		defer time.AfterFunc(lingerLimit, x.cancel).Stop()
	}
}

// event takes one event.
func (x *exchange) event(e sseEvent) error {
	if e.kind != "" && e.kind != "message" {
		return nil
	}
	if e.unfinished {
		if checkDocument(e.data.data) != nil {
			return nil // WHATWG HTML 9.2.6: discarded
		}
		x.l.c.opt.Log.Warn("the server's stream ended in the middle of an event that holds a whole message")
	}
	if err := x.decoder.line(e.data); err != nil {
		return invalidAnswer("%w", err)
	}
	x.decoder.end()
	return nil
}

// cutShort says that a stream ended without its answer.
func (x *exchange) cutShort(err error) *failure.Failure {
	if err == nil || err == io.EOF {
		f := failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "the server ended its stream without an answer to %s", x.r.method)
		f.Origin = failure.OriginUpstream
		return f
	}
	return x.l.wireFailure(err, failure.DeliveryUnknown)
}

// resume takes up a stream after the event with this id (2025-11-25, Streamable
// HTTP, Resumability and Redelivery).
func (x *exchange) resume(id string, retry time.Duration) (*http.Response, *failure.Failure) {
	if retry <= 0 {
		retry = resumeDelay
	}
	retry = min(max(retry, minResumeDelay), maxResumeDelay)
	for tries := 1; ; tries++ {
		pause := time.NewTimer(retry)
		select {
		case <-pause.C:
		case <-x.ctx.Done():
			pause.Stop()
			return nil, x.cutShort(x.ctx.Err())
		}
		resp, err := x.l.roundTrip(x.ctx, http.MethodGet, x.l.streamHeader(x.visit, id), nil)
		switch {
		case err != nil && (tries >= maxResumes || x.ctx.Err() != nil):
			return nil, x.cutShort(err)
		case err != nil:
		case isEventStream(resp):
			return resp, nil
		default:
			discard(resp)
			if resp.StatusCode < 500 || tries >= maxResumes {
				f := x.cutShort(io.EOF)
				f.Message += "; taking it up again was refused with status " + showStatus(resp)
				return nil, f
			}
		}
	}
}

// streamHeader is the header of a GET for a stream; id is the last event that
// was seen, or "".
func (l *httpLink) streamHeader(v *visit, id string) http.Header {
	header := make(http.Header, len(l.header)+4)
	for name, values := range l.header {
		header[name] = values
	}
	header["Accept"] = eventsType
	if v != nil && v.id != "" {
		header[sessionHeader] = []string{v.id}
	}
	if v != nil && v.version >= firstVersionHeader {
		header[versionHeader] = []string{v.version}
	}
	if id != "" {
		header["Last-Event-Id"] = []string{id}
	}
	return header
}

func isEventStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return resp.StatusCode == http.StatusOK && kind == "text/event-stream"
}

// discard reads the rest of a small body, so that its connection can be used
// again, and closes it.
func discard(resp *http.Response) {
	if resp.ContentLength >= 0 {
		_, _ = io.CopyN(io.Discard, resp.Body, min(resp.ContentLength, maxErrorBody))
	}
	resp.Body.Close()
}
