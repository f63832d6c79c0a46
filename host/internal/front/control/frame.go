package control

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A frame is its kind, whether more of the message follows, the id, the length of
// its part of the message in bytes, all big-endian, and that part.
const (
	frameHead = 1 + 1 + 8 + 4
	// maxPart bounds a frame: a large result lets other messages in between.
	maxPart = 1 << 20
	// maxMessage bounds a message: a result of 65 MiB and what is around it.
	maxMessage = 96 << 20
	// maxParts bounds how many messages are under way in parts at once.
	maxParts = 64
	// maxGreeting bounds a message of a process that has not said yet what it is.
	maxGreeting = 64 << 10
	// maxUnfinished bounds what all processes together may have sent of messages that
	// are not whole: the largest, and room for others.
	maxUnfinished = 2 * maxMessage
)

// message is one message, whole.
type message struct {
	op   byte
	id   uint64
	body []byte
}

// stream reads and writes messages. One goroutine reads; any may write.
type stream struct {
	conn net.Conn
	in   *bufio.Reader

	parts map[uint64][]byte // what has come of messages that are not whole
	size  int               // of them
	limit int               // of size
	all   *atomic.Int64     // the size of all streams of a host; nil for a client's

	mu sync.Mutex // held while a frame is written
}

func newStream(conn net.Conn) *stream {
	return &stream{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), parts: map[uint64][]byte{}, limit: maxMessage}
}

// read returns the next message that is whole.
func (s *stream) read() (message, error) {
	var head [frameHead]byte
	for {
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return message{}, err
		}
		m := message{op: head[0], id: binary.BigEndian.Uint64(head[2:10])}
		length := int(binary.BigEndian.Uint32(head[10:]))
		before := s.parts[m.id]
		if length > maxPart || head[1] > 1 || s.size+length > s.limit || len(s.parts) > maxParts {
			return message{}, errors.New("the other end sends what is no message, or too much")
		}
		m.body = before
		if length > 0 {
			m.body = append(before, make([]byte, length)...)
			if _, err := io.ReadFull(s.in, m.body[len(before):]); err != nil {
				return message{}, err
			}
		}
		if head[1] == 0 {
			delete(s.parts, m.id)
			s.hold(-len(before))
			return m, nil
		}
		s.parts[m.id] = m.body
		if s.hold(length) > maxUnfinished {
			return message{}, errors.New("more is under way from all processes together than the host holds")
		}
	}
}

// hold counts the bytes of messages that are not whole, and returns those of all
// streams.
func (s *stream) hold(bytes int) int64 {
	s.size += bytes
	if s.all == nil {
		return 0
	}
	return s.all.Add(int64(bytes))
}

// forget lets go of what has come of messages that will never be whole.
func (s *stream) forget() {
	s.hold(-s.size)
	clear(s.parts)
}

// write sends a message. What others send may come between its parts.
func (s *stream) write(op byte, id uint64, body []byte) error {
	if len(body) > maxMessage {
		return fmt.Errorf("a message of %d bytes: %d are allowed", len(body), maxMessage)
	}
	for {
		part := body[:min(len(body), maxPart)]
		body = body[len(part):]
		if err := s.frame(op, id, part, len(body) > 0); err != nil || len(body) == 0 {
			return err
		}
	}
}

func (s *stream) frame(op byte, id uint64, part []byte, more bool) error {
	head := make([]byte, frameHead, frameHead+len(part))
	head[0] = op
	if more {
		head[1] = 1
	}
	binary.BigEndian.PutUint64(head[2:], id)
	binary.BigEndian.PutUint32(head[10:], uint32(len(part)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	_, err := s.conn.Write(append(head, part...))
	return err
}
