package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
)

const (
	tailLines   = 64       // lines of stderr kept
	maxStderr   = 64 << 10 // bytes of one line of stderr; longer ones are split
	wordsLines  = 6        // lines of stderr quoted in a failure
	wordsLength = 1 << 10  // bytes of them
)

// tail reads a process's stderr from its start to its end, whether or not
// anybody listens, and keeps the last lines.
type tail struct {
	onLine func([]byte)

	mu   sync.Mutex
	ring [tailLines]string
	n    int // lines so far
}

func newTail(onLine func([]byte)) *tail { return &tail{onLine: onLine} }

func (t *tail) read(r io.Reader) {
	br := bufio.NewReaderSize(r, maxStderr)
	for {
		part, err := br.ReadSlice('\n')
		if len(part) > 0 {
			l := bytes.TrimRight(part, "\r\n")
			t.mu.Lock()
			t.ring[t.n%tailLines] = string(l)
			t.n++
			t.mu.Unlock()
			if t.onLine != nil {
				t.onLine(l)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// last returns the kept lines, oldest first.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, 0, min(t.n, tailLines))
	for i := max(0, t.n-tailLines); i < t.n; i++ {
		lines = append(lines, t.ring[i%tailLines])
	}
	return lines
}

// lastWords is the end of stderr as the end of a message, or "".
func (t *tail) lastWords() string {
	lines := t.last()
	lines = lines[max(0, len(lines)-wordsLines):]
	s := strings.TrimSpace(strings.Join(lines, "\n"))
	if s == "" {
		return ""
	}
	if over := len(s) - wordsLength; over > 0 {
		s = "..." + strings.ToValidUTF8(s[over:], "")
	}
	return "; its last words on stderr: " + strings.ToValidUTF8(s, "\uFFFD")
}
