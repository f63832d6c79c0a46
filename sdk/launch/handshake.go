package launch

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/collet-dev/collet/sdk/internal/excerpt"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// Junk printed before the handshake is remembered for the error message, not
// logged: that many lines of that many bytes show what it is.
const (
	maxJunkLines = 8
	maxJunkBytes = 200
)

// goPluginCore is the only version of the handshake line itself that go-plugin
// has ever had.
const goPluginCore = "1"

// handshake reads a plugin's stdout. It hands exactly one line, the handshake,
// to go-plugin and swallows the rest for ever: go-plugin's own scanner stops at
// the first line over 64 KiB, and the plugin then blocks in its next write.
type handshake struct {
	split lines
	// over says that nothing more is of interest; only the pumping goroutine uses it.
	over bool

	ready chan struct{} // closed once the fields below are final
	line  io.Reader     // what go-plugin reads
	err   error         // why the handshake cannot be accepted

	mu     sync.Mutex
	junk   []string
	junked int
}

func newHandshake() *handshake {
	h := &handshake{ready: make(chan struct{})}
	h.split.emit = h.offer
	return h
}

func (h *handshake) write(chunk []byte) {
	if !h.over {
		h.split.write(chunk)
	}
}

func (h *handshake) end() {
	h.split.end()
	h.settle("", nil)
}

func (h *handshake) settle(line string, err error) {
	if h.over {
		return
	}
	h.over, h.line, h.err = true, strings.NewReader(line), err
	close(h.ready)
}

func (h *handshake) offer(b []byte) {
	if h.over {
		return
	}
	line := strings.TrimSpace(string(b))
	if isHandshake(line) {
		if err := checkHandshake(line); err != nil {
			h.settle("", err)
			return
		}
		h.settle(line+"\n", nil)
		return
	}
	if line == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.junked++
	if len(h.junk) < maxJunkLines {
		h.junk = append(h.junk, excerpt.Of(line, maxJunkBytes))
	}
}

// junkLines returns the first lines that were no handshake, and how many there
// were in all.
func (h *handshake) junkLines() ([]string, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.junk, h.junked
}

// refusal is why the handshake that came cannot be accepted, or nil.
func (h *handshake) refusal() error {
	select {
	case <-h.ready:
		return h.err
	default:
		return nil
	}
}

// Read implements io.Reader for go-plugin: it waits for the handshake, gives
// its one line, then EOF.
func (h *handshake) Read(p []byte) (int, error) {
	<-h.ready
	return h.line.Read(p)
}

// Close implements io.Closer. The pipe belongs to the child, which closes it.
func (h *handshake) Close() error { return nil }

// isHandshake says whether a line has the shape of go-plugin's handshake,
// "core|protocol|network|address[|kind[|certificate...]]", whatever its numbers.
func isHandshake(line string) bool {
	parts := strings.Split(line, "|")
	if len(parts) < 4 || (parts[2] != "unix" && parts[2] != "tcp") || parts[3] == "" {
		return false
	}
	for _, number := range parts[:2] {
		if _, err := strconv.ParseUint(number, 10, 31); err != nil {
			return false
		}
	}
	return true
}

// checkHandshake returns why this host cannot speak to the plugin that printed
// line, in words for whoever installed it. go-plugin checks the same things
// again, in words for whoever wrote it.
func checkHandshake(line string) error {
	parts := strings.Split(line, "|")
	if parts[0] != goPluginCore {
		return fmt.Errorf("it speaks version %s of go-plugin's own handshake and this host speaks %s: it was built with an incompatible go-plugin", parts[0], goPluginCore)
	}
	if version := parts[1]; version != strconv.Itoa(wire.ProtocolVersion) {
		return fmt.Errorf("it speaks version %s of the adapter contract and this host speaks %d: install a plugin, or a collet, of the other's version", version, wire.ProtocolVersion)
	}
	if len(parts) < 5 || parts[4] != "grpc" {
		return fmt.Errorf("it does not speak gRPC (its handshake is %q): it is a go-plugin binary, but no collet adapter", excerpt.Of(line, maxJunkBytes))
	}
	return nil
}
