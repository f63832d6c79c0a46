// Package mcp is the host's MCP face: what a model client lists, searches and
// calls. It is a handler of the server half of sdk/mcp, which owns the wire and
// both protocol eras; this package owns which tools a model sees and under which
// names.
//
// The list of tools follows from the configuration and the servers' real tools
// alone. It never changes because somebody searched or called, which the
// protocol forbids and which would cost every client its prompt cache.
//
// It knows servers by name only, starts nothing itself, makes every call through
// the host's one pipeline, and never changes a result but for old clients.
package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/search"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// Host is what the face needs of the host behind it.
type Host interface {
	// Servers are all enabled servers as they are now, sorted by name: the same slice
	// again when nothing has changed, and never changed itself.
	Servers() []Server
	// Settled waits until the servers of whose tools nothing is known have listed
	// them, or have failed to, at most for the configuration's connect_wait since the
	// host began to start them. It waits only for those that concern the caller.
	Settled(ctx context.Context, concerns func(server string) bool)
	// Settling says whether Settled would wait.
	Settling(concerns func(server string) bool) bool
	// Arrived waits as long for one server to tell this host of its tools, and reports
	// whether it has.
	Arrived(ctx context.Context, server string) bool
	// Plain says that names have no prefix (wire_names = "plain").
	Plain() bool
	// Identifiers says how scripts spell a tool and its server now, to one goroutine.
	Identifiers() func(*catalog.Tool) (server, tool string)
	// SamePrincipal says whether two Caller.Principal are the same.
	SamePrincipal(a, b any) bool
	// SameRights says whether both may use the same: those of one principal change.
	SameRights(a, b any) bool
	// Call and Forward are the host's.
	Call(ctx context.Context, req call.Request) (*call.Result, error)
	Forward(ctx context.Context, req call.ForwardRequest) (json.RawMessage, error)
	// Owner is whose results are those of a Caller.Principal, and ReadResult answers
	// result_read for that owner. Its error is a *failure.Failure.
	Owner(principal any) string
	ReadResult(owner string, arguments json.RawMessage) (json.RawMessage, error)
	// RunScript runs a script and makes its outcome small enough for the client. What
	// it ran into is in the outcome; the error is that it did not run at all.
	RunScript(ctx context.Context, s Script) (codemode.Outcome, error)
	// PrepareScripts is told that a script may come soon. It does not wait.
	PrepareScripts()
}

// Server is one server as the face sees it.
type Server struct {
	Name         string
	Description  string // of its entry in mcp.toml
	Instructions string // its own
	State        string
	Down         bool // its tools are unknown or cannot be called now
	Starting     bool // it is down because it has not come up yet
	Rules        exposure.Rules
	Tools        []Tool          // sorted by name; hidden ones are not among them
	Withdrawn    []Tool          // that it had, and has no more
	Asked        bool            // all this is what it told this host, and not an earlier one
	Methods      []string        // that Forward takes
	Capabilities json.RawMessage // the upstream's, nil when unknown
}

// Tool is one tool of a server.
type Tool struct {
	*catalog.Tool
	Wire     string // "" when another tool claims its name
	Exposure exposure.Exposure
}

// Principal is who asks, when the transport knows: it may narrow what there is.
type Principal interface {
	AllowsServer(server string) bool
	// Exposure is how the principal sees a tool that is configured with e.
	Exposure(server, tool string, e exposure.Exposure) exposure.Exposure
}

// Front answers model clients. It is a protocol.Handler, and a protocol.ReadyHandler.
type Front struct {
	host Host

	outlooks outlooks

	indexing sync.Mutex
	index    search.Index
	indexed  map[string][]*catalog.Tool // what the index holds, by server

	told   told
	stored stores

	watched  watched
	gathered gathered
	parked   parkedRequests
	sealing  [32]byte // the key of states that are passed on

	base context.Context // of what belongs to no request
	stop context.CancelFunc
	work sync.WaitGroup

	closing sync.Mutex
	closed  bool
}

// New returns the face of h. Close must be called in the end, when nothing is
// being served any more.
func New(h Host) *Front {
	f := &Front{host: h, indexed: map[string][]*catalog.Tool{}}
	f.base, f.stop = context.WithCancel(context.Background())
	_, _ = rand.Read(f.sealing[:]) // never fails
	return f
}

// Close gives up what belongs to no request, and waits until it has ended.
func (f *Front) Close() {
	f.closing.Lock()
	f.closed = true
	f.closing.Unlock()
	f.stop()
	f.parked.forget()
	f.work.Wait()
}

// spawn runs what Close waits for, unless it is too late for that.
func (f *Front) spawn(run func()) bool {
	f.closing.Lock()
	defer f.closing.Unlock()
	if !f.closed {
		f.work.Go(run)
	}
	return !f.closed
}

// capabilities are always the same: which servers have prompts or resources is
// not known before they run, and a client asks once.
const capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}`

// Describe says what the host is to a client: instructions carry the section
// about its servers.
func (f *Front) Describe(_ context.Context, c *protocol.Caller) protocol.Description {
	return protocol.Description{
		Instructions: Instructions(f.servers(c)),
		Capabilities: json.RawMessage(capabilities),
	}
}

// servers are the servers and tools that a caller may know of. They are not changed.
func (f *Front) servers(c *protocol.Caller) []Server { return f.outlook(c).servers }

// settled waits for the servers that a caller may know of.
func (f *Front) settled(ctx context.Context, c *protocol.Caller) {
	f.host.Settled(ctx, func(server string) bool { return f.Concerns(c, server) })
}

// Handle answers one request.
func (f *Front) Handle(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	switch r.Method {
	case "tools/list":
		return f.listTools(ctx, r)
	case "prompts/list", "resources/list", "resources/templates/list":
		return f.listAll(ctx, r)
	case "completion/complete":
		return f.complete(ctx, r)
	case "tools/call", "prompts/get", "resources/read":
		return f.interact(ctx, r)
	}
	return nil, protocol.ErrMethodNotFound
}

// answer answers a request that a server may ask something about before it does.
func (f *Front) answer(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	switch r.Method {
	case "prompts/get":
		return f.getPrompt(ctx, r)
	case "resources/read":
		return f.readResource(ctx, r)
	}
	return f.callTool(ctx, r)
}

// invalidParams is the JSON-RPC error of a request that names what is not there.
func invalidParams(message string) error {
	return &protocol.WireError{Code: -32602, Message: message}
}
