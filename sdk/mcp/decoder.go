package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// junkLogged is how many lines that are no messages are logged; all count.
	junkLogged = 5
	// junkShown bounds what one of those log records quotes, in bytes.
	junkShown = 200
	// eagerScan is up to where a message over several lines is looked at again
	// with each line, so that a lone "{" in a banner is soon found out. Beyond it
	// only the balance of brackets decides, which costs each byte once.
	eagerScan = 4 << 10
	// salvageTries bounds how many brackets of a bad line are tried as the start
	// of a message.
	salvageTries = 16
)

// receiver takes what the decoder finds.
type receiver interface {
	// message takes one message; its slices belong to the receiver.
	message(envelope)
	// broken takes an answer that cannot be read: how its text starts and ends
	// and why. oversized marks the one over the size limit.
	broken(head, tail []byte, why string, oversized bool)
}

// decoder turns lines into messages. The rules, most common fault first: what
// is no JSON object is skipped, counted and logged; junk before a message on its
// line is cut off; several documents on a line, batches and messages over
// several lines are accepted; invalid UTF-8 becomes U+FFFD. Two things end the
// session, because no message can follow: Content-Length framing and UTF-16.
type decoder struct {
	to  receiver
	log *slog.Logger
	max int

	partial []byte // lines of a message that is not complete yet
	open    balance
	heard   bool // a message has come
	*counts
}

// counts are what was wrong with the input; the decoders of one connection share
// them.
type counts struct {
	junk, badText, oversized atomic.Int64

	heard     atomic.Bool            // there was a message
	firstJunk atomic.Pointer[string] // as it may be shown
}

// onlyJunk says, as the end of a sentence, that all output was no MCP, if so.
func (c *counts) onlyJunk() string {
	first := c.firstJunk.Load()
	if first == nil || c.heard.Load() {
		return ""
	}
	return "; it printed only output that is no MCP, first " + *first
}

// line takes one line. An error ends the session.
func (d *decoder) line(l line) error {
	if l.tail != nil {
		d.dropPartial()
		d.oversized.Add(1)
		d.log.Warn("skipped a message over the size limit", "bytes", l.size, "limit", d.max)
		d.to.broken(l.data, l.tail, fmt.Sprintf("the server's answer of %d bytes is over the limit of %d bytes for one message", l.size, d.max), true)
		return nil
	}
	b := bytes.TrimRight(bytes.TrimPrefix(l.data, []byte("\xef\xbb\xbf")), "\r")
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		if isUTF16(b) {
			return errors.New("the server's output is not UTF-8 but UTF-16; set its output encoding to UTF-8")
		}
		if !utf8.Valid(b) {
			if d.badText.Add(1) == 1 {
				d.log.Warn("the server's output is not valid UTF-8; bad bytes are shown as U+FFFD", "line", quote(b))
			}
			b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
		}
	}
	if skipSpace(b, 0) == len(b) {
		return nil
	}
	if d.partial != nil {
		return d.more(b)
	}
	return d.documents(b)
}

// end takes the end of input: what is incomplete then stays so.
func (d *decoder) end() { d.dropPartial() }

// cut takes the end of a process's output. What it began to say answers nothing:
// its request fails with all others, by how the process ended.
func (d *decoder) cut() {
	if d.partial != nil {
		d.skip(d.partial)
		d.partial = nil
	}
}

// documents handles the documents of one line, or of several once they are
// complete.
func (d *decoder) documents(b []byte) error {
	for i := skipSpace(b, 0); i < len(b); i = skipSpace(b, i) {
		var (
			end int
			err = errSyntax
		)
		switch b[i] {
		case '{':
			var e envelope
			if e, end, err = scanEnvelope(b, i); err == nil {
				d.object(e, b[i:end])
			}
		case '[':
			end, err = d.array(b, i)
		}
		switch {
		case err == nil:
			i = end
		case errors.Is(err, errTruncated):
			d.partial = b[i:len(b):len(b)]
			d.open = balance{}
			d.open.add(d.partial)
			return nil
		default:
			if i, err = d.salvage(b, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) object(e envelope, b []byte) {
	if !e.isMessage() {
		d.skip(b)
		return
	}
	if !d.heard {
		d.heard = true
		d.counts.heard.Store(true)
	}
	d.to.message(e)
}

// array unpacks a batch. MCP dropped batches in 2025-06-18; older servers still
// answer with them.
func (d *decoder) array(b []byte, i int) (int, error) {
	end, err := eachElement(b, i, 0, nil)
	if err != nil {
		return end, err
	}
	messages := false
	eachElement(b, i, 0, func(v []byte) {
		if !isObject(v) {
			return
		}
		if e, _, err := scanEnvelope(v, 0); err == nil && e.isMessage() {
			messages = true
			d.object(e, v)
		}
	})
	if !messages {
		d.skip(b[i:end])
	}
	return end, nil
}

// more adds a line to an incomplete message.
func (d *decoder) more(b []byte) error {
	start := skipSpace(b, 0)
	if b[start] == '{' {
		// A whole message on a line of its own: what came before was no part of one.
		if e, end, err := scanEnvelope(b, start); err == nil && e.version != nil && skipSpace(b, end) == len(b) {
			d.dropPartial()
			return d.documents(b)
		}
	}
	if len(d.partial)+1+len(b) > d.max {
		d.dropPartial()
		return d.documents(b)
	}
	d.partial = append(append(d.partial, '\n'), b...)
	d.open.add(b)
	if d.open.depth > 0 && len(d.partial) > eagerScan {
		return nil
	}
	_, err := skipValue(d.partial, 0, 0)
	switch {
	case err == nil:
		whole := d.partial
		d.partial = nil
		return d.documents(whole)
	case errors.Is(err, errTruncated):
		return nil
	}
	d.dropPartial()
	return d.documents(b)
}

func (d *decoder) dropPartial() {
	if d.partial == nil {
		return
	}
	b := d.partial
	d.partial = nil
	d.skip(b)
	d.to.broken(b, b, "the server's answer breaks off", false)
}

// salvage deals with b[i:], which starts no document: either a message follows
// on the same line, or all of it is junk. It returns where to go on.
func (d *decoder) salvage(b []byte, i int) (int, error) {
	rest := b[i:]
	if !d.heard && isContentLength(rest) {
		return 0, errors.New("the server speaks LSP framing (Content-Length headers), not MCP: MCP over stdio is one JSON message per line")
	}
	if bytes.Contains(rest, []byte(`"jsonrpc"`)) {
		at := 0
		for range salvageTries {
			next := bytes.IndexByte(rest[at+1:], '{')
			if next < 0 {
				break
			}
			at += 1 + next
			if e, _, err := scanEnvelope(rest, at); err == nil && e.version != nil {
				d.skip(rest[:at])
				return i + at, nil
			}
		}
	}
	d.skip(rest)
	d.to.broken(rest, rest, "the server's answer is not valid JSON", false)
	return len(b), nil
}

func (d *decoder) skip(b []byte) {
	if n := d.junk.Add(1); n <= junkLogged {
		line := quote(b)
		d.firstJunk.CompareAndSwap(nil, &line)
		d.log.Warn("skipped output of the server that is no MCP message", "line", line)
	}
}

// quote shows bytes of a stranger: bounded, one line, control characters
// escaped.
func quote(b []byte) string {
	if len(b) <= junkShown {
		return strconv.Quote(string(b))
	}
	return strconv.Quote(string(b[:junkShown])) + "..."
}

// spell shows a JSON value of a stranger like quote, a string as the text it is.
func spell(value []byte) string {
	if s, ok := text(value); ok {
		return quote([]byte(s))
	}
	return quote(value)
}

func isContentLength(b []byte) bool {
	const name = "content-length:"
	return len(b) >= len(name) && bytes.EqualFold(b[:len(name)], []byte(name))
}

// isUTF16 recognises a JSON message in UTF-16: every second byte is zero and
// the others spell one.
func isUTF16(b []byte) bool {
	if zeros := bytes.Count(b, []byte{0}); zeros < len(b)*2/5 {
		return false
	}
	return bytes.Contains(bytes.ReplaceAll(b, []byte{0}, nil), []byte(`"jsonrpc"`))
}

// balance counts brackets over the pieces of a document.
type balance struct {
	depth           int
	quoted, escaped bool
}

func (s *balance) add(b []byte) {
	for _, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.quoted = c != '"'
			s.escaped = c == '\\'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		}
	}
}
