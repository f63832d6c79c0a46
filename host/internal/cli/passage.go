package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// maxLine is the most bytes of a client's message that are passed on: what a host
// takes, and what is around it.
const maxLine = 96 << 20

// link is a connection to a host, one message a line.
type link interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// passage passes the messages of one client of MCP on to a host, byte for byte, and to
// another one when that ends. It knows as much of them as that takes: how the session
// began, and what has no answer yet.
type passage struct {
	out io.Writer
	// next connects to another host, and says which process the one before was.
	next func(ctx context.Context) (link, error)

	mu      sync.Mutex // held between two hosts
	to      link
	gone    bool                // the client says nothing more
	opening [2][]byte           // initialize, which sessions of 2025-11-25 and before begin with, and that it is done
	open    []said              // requests without an answer, oldest first
	theirs  map[string]struct{} // requests of the host without one
}

// said is a request of the client.
type said struct {
	id, method, tool string
	line             []byte
}

// errMidway is that the session cannot go on with another host.
var errMidway = errors.New("it ended while it was waiting for an answer from this client")

// run passes on until the client or ctx ends, or there is no host any more. The reader
// of in ends with it, or with the process: nothing interrupts a read from a pipe.
func (p *passage) run(ctx context.Context, first link, in io.Reader) error {
	p.to, p.theirs = first, map[string]struct{}{}
	defer func() { p.current().Close() }()
	defer context.AfterFunc(ctx, p.leave)()
	go p.fromClient(in)
	from := bufio.NewReaderSize(first, 64<<10)
	for {
		err := p.fromHost(from)
		p.mu.Lock()
		gone := p.gone
		p.mu.Unlock()
		switch {
		case ctx.Err() != nil: // to be stopped is how serving ends
			return nil
		case !errors.Is(err, io.EOF):
			return err
		case gone:
			return nil
		}
		if from, err = p.change(ctx); err != nil {
			return err
		}
	}
}

// leave says that the client says nothing more, and gives what it has asked a moment to
// be answered.
func (p *passage) leave() {
	p.mu.Lock()
	p.gone = true
	to := p.to
	p.mu.Unlock()
	_ = to.CloseWrite()
	time.AfterFunc(drainWait, func() { to.Close() })
}

func (p *passage) current() link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to
}

func (p *passage) fromClient(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readMessage(r)
		p.mu.Lock()
		if len(line) > 0 {
			p.heard(line)
		}
		p.gone = err != nil
		to := p.to // a host that has ended takes nothing, and change tells the next one
		p.mu.Unlock()
		if len(line) > 0 {
			_, _ = to.Write(line)
		}
		if err != nil {
			_ = to.CloseWrite()
			return
		}
	}
}

// heard takes note of what a client said, one message or several in an array (a batch,
// 2025-03-26). A host answers each request of a batch by itself, and so it is kept by
// itself, as a batch of one: whatever a host makes of a batch, the next one makes of it.
func (p *passage) heard(line []byte) {
	if batch := bytes.TrimLeft(line, "\ufeff \t\r"); len(batch) == 0 || batch[0] != '[' {
		p.noted(line, line, false)
	} else if gjson.ValidBytes(batch) {
		for _, m := range gjson.ParseBytes(batch).Array() {
			if m.IsObject() {
				p.noted([]byte(m.Raw), []byte("["+m.Raw+"]\n"), true)
			}
		}
	}
}

// noted takes note of one message, which line says again.
func (p *passage) noted(message, line []byte, inBatch bool) {
	m := gjson.GetManyBytes(message, "method", "id", "params.name", "params.requestId")
	method, id := m[0].Str, m[1].Raw
	switch {
	case method == "" && id != "":
		delete(p.theirs, id)
	case method == "notifications/cancelled":
		p.answered(m[3].Raw)
	case method == "notifications/initialized" && !inBatch:
		p.opening[1] = line
	case id != "":
		if method == "initialize" && !inBatch { // in a batch it is refused
			p.opening[0] = line
		}
		p.open = append(p.open, said{id, method, m[2].Str, line})
	}
}

func (p *passage) answered(id string) {
	p.open = slices.DeleteFunc(p.open, func(s said) bool { return s.id == id })
}

// fromHost passes on what a host says until it ends, which is io.EOF.
func (p *passage) fromHost(from *bufio.Reader) error {
	for {
		line, err := readMessage(from)
		if err != nil {
			if !errors.Is(err, errLongLine) {
				err = io.EOF // half a line is nothing
			}
			return err
		}
		m := gjson.GetManyBytes(line, "method", "id", "params.requestId")
		method, id := m[0].Str, m[1].Raw
		p.mu.Lock()
		switch {
		case method == "notifications/cancelled": // nobody answers that any more
			delete(p.theirs, m[2].Raw)
		case id != "" && method != "":
			p.theirs[id] = struct{}{}
		case id != "":
			p.answered(id)
		}
		p.mu.Unlock()
		if _, err := p.out.Write(line); err != nil {
			return err
		}
	}
}

// change goes on with another host, and with one after that when it ends before the
// session has gone over.
func (p *passage) change(ctx context.Context) (*bufio.Reader, error) {
	p.current().Close() // who still writes to it stops
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.theirs) > 0 {
		return nil, errMidway // the next one may ask by the same ids
	}
	for {
		next, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		p.to = next
		from := bufio.NewReaderSize(next, 64<<10)
		stop := context.AfterFunc(ctx, func() { next.Close() })
		err = p.reopen(next, from)
		if err == nil {
			if err := p.tellLost(); err != nil {
				stop()
				return nil, err
			}
			err = p.askAgain(next)
		}
		if stop(); err == nil {
			return from, nil
		}
		next.Close()
		if ctx.Err() != nil || errors.Is(err, errLongLine) {
			return nil, err
		}
	}
}

// reopen has a host hear how the session began, unless it never did.
func (p *passage) reopen(next link, from *bufio.Reader) error {
	first := gjson.GetBytes(p.opening[0], "id").Raw
	if p.opening[0] == nil || slices.ContainsFunc(p.open, func(s said) bool { return s.id == first }) {
		return nil
	}
	if _, err := next.Write(p.opening[0]); err != nil {
		return err
	}
	for { // the answer is as it was, and nobody waits for it
		line, err := readMessage(from)
		if err != nil {
			return err
		}
		if m := gjson.GetManyBytes(line, "method", "id"); m[0].Str == "" && m[1].Raw == first {
			break
		}
	}
	if p.opening[1] == nil {
		return nil
	}
	_, err := next.Write(p.opening[1])
	return err
}

// tellLost answers the calls that the host before took along: they may have had an
// effect, and are not made again.
func (p *passage) tellLost() error {
	for _, s := range p.open {
		if s.method != methodCall {
			continue
		}
		if _, err := p.out.Write(lostCall(s)); err != nil {
			return err
		}
	}
	p.open = slices.DeleteFunc(p.open, func(s said) bool { return s.method == methodCall })
	return nil
}

// askAgain asks a host what has no answer.
func (p *passage) askAgain(next link) error {
	for _, s := range p.open {
		if _, err := next.Write(s.line); err != nil {
			return err
		}
	}
	return nil
}

const methodCall = "tools/call"

// lostCall is the answer to a call whose host has ended.
func lostCall(s said) []byte {
	f := &host.Failure{Tool: s.tool, Failure: *failure.New(failure.ConnectionRefused, failure.DeliveryUnknown,
		"the running host ended before it answered; whether the call had an effect is not known. Another host goes on from here")}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), s.id...)
	line = append(append(line, `,"result":`...), f.Answer(true)...)
	return append(line, '}', '\n')
}

var errLongLine = errors.New("a message is longer than a host takes")

// readMessage returns the next line with its newline, or the last one without.
func readMessage(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLongLine
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && len(bytes.TrimSpace(line)) == 0 {
				line = nil
			}
			return line, err
		}
	}
}
