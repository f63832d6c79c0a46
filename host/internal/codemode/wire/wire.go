// Package wire is what the host and the process of one script say to each other
// over two pipes: frames of a length, a kind, a number and a body, which is JSON.
// It knows neither scripts nor tools, and starts nothing.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Kind says what a frame is.
type Kind byte

// What the script's process says.
const (
	Ready   Kind = iota + 1 // the engine is up; no body
	Call                    // Request of a tool; ID is the call's number, from 1
	Ask                     // Question about tools; ID is a number among those of calls
	Output                  // Item of the script's output
	Console                 // Line of the console
	Done                    // Ending; nothing follows
)

// What the host says.
const (
	Start  Kind = iota + 32 // Program, once
	Answer                  // any JSON value that settles ID
	Refuse                  // Refusal that settles ID
	Stop                    // Reason: the script ends now
)

// MaxFrame bounds one frame's body, in bytes: a result of the largest size there is,
// with room for what is around it.
const MaxFrame = 40 << 20

// Frame is one message.
type Frame struct {
	Kind Kind
	ID   uint32
	Body []byte
}

const header = 4 + 1 + 4

// Write writes a frame with a single call of w.Write, or with two where the body is large.
func Write(w io.Writer, f Frame) error {
	if len(f.Body) > MaxFrame {
		return fmt.Errorf("a frame of %d bytes is larger than %d", len(f.Body), MaxFrame)
	}
	const small = 64 << 10
	b := make([]byte, header, header+min(len(f.Body), small))
	binary.BigEndian.PutUint32(b, uint32(len(f.Body)))
	b[4] = byte(f.Kind)
	binary.BigEndian.PutUint32(b[5:], f.ID)
	if len(f.Body) <= small {
		_, err := w.Write(append(b, f.Body...))
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err := w.Write(f.Body)
	return err
}

// Read reads one frame whose body has at most limit bytes. The error is io.EOF only
// between two frames.
func Read(r io.Reader, limit int) (Frame, error) {
	var b [header]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(b[:])
	if int64(n) > int64(min(limit, MaxFrame)) {
		return Frame{}, fmt.Errorf("a frame of %d bytes is larger than %d", n, min(limit, MaxFrame))
	}
	f := Frame{Kind: Kind(b[4]), ID: binary.BigEndian.Uint32(b[5:]), Body: make([]byte, n)}
	if _, err := io.ReadFull(r, f.Body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return f, nil
}

// Program is a script and what it may use.
type Program struct {
	Source        string            `json:"source"`
	Args          json.RawMessage   `json:"args,omitempty"` // what the script sees as args; nil is undefined
	Servers       []Server          `json:"servers,omitempty"`
	Stored        map[string]string `json:"stored,omitempty"` // key -> JSON
	Seed          string            `json:"seed,omitempty"`   // of Math.random
	Deterministic bool              `json:"deterministic,omitempty"`
	Now           int64             `json:"now"` // milliseconds since 1970, where the clock stands still
	Heap          int64             `json:"heap"`
	MaxCalls      int               `json:"maxCalls"`
	MaxArguments  int               `json:"maxArguments"`
	MaxOutput     int               `json:"maxOutput"`
	MaxItems      int               `json:"maxItems"`
	MaxConsole    int               `json:"maxConsole"`
	MaxStored     int               `json:"maxStored"`    // one value
	MaxStoredAll  int               `json:"maxStoredAll"` // keys and values
}

// Server is one server that a script sees.
type Server struct {
	Name       string `json:"name"`
	Identifier string `json:"id"`
	Tools      []Tool `json:"tools,omitempty"`
	// Open: its tools are not all known, so that any name may be one.
	Open bool `json:"open,omitempty"`
}

// Tool is one tool by its name on its server, and its name in a script.
type Tool struct {
	Name       string `json:"name"`
	Identifier string `json:"id"`
}

// Request is a call of a tool.
type Request struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"args"`
	Raw       bool            `json:"raw,omitempty"`     // the whole result, isError included
	TimeoutMs int64           `json:"timeout,omitempty"` // of one attempt; 0 is the server's own
}

// Question asks about tools.
type Question struct {
	What string          `json:"what"` // search, describe or server
	Args json.RawMessage `json:"args"` // an array
}

// Item is one piece of output: a text, or an MCP content block.
type Item struct {
	Text  string          `json:"text,omitempty"`
	Block json.RawMessage `json:"block,omitempty"`
}

// Line is one line of the console.
type Line struct {
	Level string `json:"level"` // log, info, warn, error or debug
	Text  string `json:"text"`
}

// Refusal is a call that failed, as the script's ToolError.
type Refusal struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Details   json.RawMessage `json:"details,omitempty"`
	Retryable bool            `json:"retryable,omitempty"`
}

// Reason says why the host stops a script.
type Reason struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Ending is how a script ended.
type Ending struct {
	Value   json.RawMessage   `json:"value,omitempty"` // nil is undefined
	Error   *Fault            `json:"error,omitempty"`
	Stored  map[string]string `json:"stored,omitempty"` // what the script wrote; "" removes
	Dropped int               `json:"dropped,omitempty"`
	Notices []string          `json:"notices,omitempty"`
}

// Fault is why a script failed. Line and column are those of the script as it was
// written, from 1; 0 is unknown.
type Fault struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Stack   string `json:"stack,omitempty"`
	Tool    string `json:"tool,omitempty"` // of an uncaught ToolError
	Code    string `json:"code,omitempty"`
}
