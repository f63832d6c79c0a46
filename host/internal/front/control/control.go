// Package control lets other processes of the same user use a host that is running:
// over a unix socket that nobody else can reach, on Windows over the loopback
// interface with a token. A host is found by a name that stands for its whole
// configuration, and has one owner; the first process that takes it is that.
//
// A message is gob in frames, so that JSON goes through as it was written. Both ends
// are of one build, which the first message makes sure of, so the messages have no
// versions. The few that pass before that is known, and those by which one build takes
// another's place, never change: see meetings. It decides nothing about calls, and
// prints nothing.
package control

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// Times that bound what one end waits for the other.
const (
	// helloWait is how long a host may take to say who it is: one that is stopped, or
	// a machine that is, must not hold up a command that can do without.
	helloWait = time.Second
	// greetWait is how long a process that has connected may take to say hello. It keeps
	// nobody waiting but itself.
	greetWait = 10 * time.Second
	// pingEvery and deadAfter find a host that does not run any more while a call waits
	// for it. Its reader answers at once, whatever it is doing. Both are counted in pings
	// without an answer: a machine that sleeps ages no connection.
	pingEvery = 5 * time.Second
	deadAfter = 20 * time.Second
	// writeWait is how long the other end may leave a frame unread.
	writeWait = 30 * time.Second
	// cancelWait is how long a canceled call may take to say how it ended.
	cancelWait = 2 * time.Second
)

// Meetings: what two builds say to each other. These numbers, the frames, and the names
// and meanings of the members of hello, greeting and failed.Text stay as they are for
// ever; members may be added.
const (
	opHello  byte = 1
	opYield  byte = 2
	opStop   byte = 3
	opDone   byte = 4
	opFailed byte = 5
)

// The other kinds of messages, between two ends of one build. Those of a client begin
// something under an id of its own; those of the host are about one.
const (
	opServers byte = iota + 16
	opTools
	opTool
	opKnown
	opCall
	opRun
	opSearch
	opInstructions
	opPrompt
	opDefinitions
	opStdio
	opStatus
	opCancel // of what has that id
	opAnswer // to a question
	opPing
	opRestart
	opWatch
	opAttend // the session of MCP of that token

	opProgress
	opScriptCall
	opConsent
	opAsk
	opPong
	opNews
)

// hello is what a client says first.
type hello struct{ Build string }

// greeting is what a client of any build understands of a Welcome.
type greeting struct {
	Build, Version string
	Pid            int
	Since          time.Time
}

// Welcome is what a host says of itself first.
type Welcome struct {
	Build, Version string
	Pid            int
	Since          time.Time
	Problems       []host.Problem // of its configuration
	Servers        []host.Server
	HookLogs       []host.HookLog
	Serve          bool   // it is a client's 'collet serve', which ends when that client leaves
	Log            string // the file of what it tells of itself, where that is one
}

// Status is how a host that is shared is.
type Status struct {
	Pid     int
	Version string
	Since   time.Time
	Clients int // besides the one that asks
	Servers []host.Server
}

// Build tells builds of this program apart: the same version can be built twice.
func Build(version string) string {
	exe, err := os.Executable()
	if err != nil {
		return version
	}
	info, err := os.Stat(exe)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%s %d %d", version, info.Size(), info.ModTime().UnixNano())
}

// What travels. Functions of requests stay behind: they are asked with messages.
type (
	toolRequest struct{ Name string }
	knownAnswer struct {
		Tool  *tool
		Asked time.Time
	}
	callRequest struct {
		Request       host.Request
		Progress      bool // somebody looks
		Consent, Asks bool // somebody can be asked
	}
	// runRequest is what of a host.ScriptRequest travels.
	runRequest struct {
		Source         string
		Args           json.RawMessage
		ID             string
		Limits         host.ScriptLimits
		Deterministic  bool
		Now            time.Time
		Owner, Session string
		Patterns       []string
		Narrow, DryRun bool // Narrow: Patterns is not nil
		Meta           json.RawMessage
		Consent, Asks  bool // somebody can be asked
		Watched        bool // somebody looks
	}
	promptRequest struct {
		Exposure host.Exposure
		Servers  []string
		All      bool // Servers is nil
	}
	listing struct {
		Tools   []tool
		Servers []host.Server
	}
	// tool is a tool with what is no field: its spelling in scripts, and whether its
	// schema is checked, when the host knows.
	tool struct {
		Tool                     host.Tool
		InScriptServer, InScript string
		Judged                   bool
		Unchecked                string
	}
	question struct {
		ID      uint64
		Consent host.ConsentQuestion
		Tool    string // whose call asks
		Method  string
		Params  json.RawMessage
	}
	answer struct {
		ID      uint64
		Consent host.ConsentAnswer
		Result  json.RawMessage
		Failed  *failed
	}
	// failed is an error.
	failed struct {
		Failure  *host.Failure
		Plain    *failure.Failure
		Canceled bool
		Text     string
	}
)

func pack(v any) []byte {
	if v == nil {
		return nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // of the types above
	}
	return b.Bytes()
}

func unpack(raw []byte, to any) error {
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(to); err != nil {
		return fmt.Errorf("read a message of the running host: %w", err)
	}
	return nil
}

// packError takes an error along, without its cause, which is of this process.
func packError(err error) *failed {
	f := &failed{Text: err.Error(), Canceled: errors.Is(err, context.Canceled)}
	if whole, ok := errors.AsType[*host.Failure](err); ok {
		f.Failure = portable(whole)
	} else if plain, ok := errors.AsType[*failure.Failure](err); ok {
		own := *plain
		own.Err = nil
		f.Plain = &own
	}
	return f
}

func (f *failed) error() error {
	switch {
	case f.Failure != nil:
		return f.Failure
	case f.Plain != nil:
		return f.Plain
	case f.Canceled:
		return context.Canceled
	}
	return errors.New(f.Text)
}

func portable(f *host.Failure) *host.Failure {
	if f == nil {
		return nil
	}
	own := *f
	own.Err = nil
	return &own
}

func portableServers(servers []host.Server) []host.Server {
	out := make([]host.Server, len(servers))
	for i, s := range servers {
		s.Failure = portable(s.Failure)
		out[i] = s
	}
	return out
}

func packTool(t *host.Tool) *tool {
	if t == nil {
		return nil
	}
	server, own := t.InScript()
	unchecked, known := t.Verdict()
	return &tool{Tool: *t, InScriptServer: server, InScript: own, Judged: known, Unchecked: unchecked}
}

func (t *tool) unpack() *host.Tool {
	t.Tool.SpellInScript(t.InScriptServer, t.InScript)
	if t.Judged {
		t.Tool.TakeVerdict(t.Unchecked)
	}
	return &t.Tool
}
