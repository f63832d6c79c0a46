// Package adapter is the author's side of the contract: everything a plugin
// needs to answer a collet host. A plugin calls Main with an Info and a function
// that opens its Server; the package serves collet.adapter.v1 over go-plugin,
// derives schemas from Go types, checks arguments and configuration, keeps the
// order and rate of events, recovers panics, and leaves when the host does.
//
// It never decides on retries, exposure or consent: those are the host's. It
// never writes to the plugin's standard output, which carries the handshake.
package adapter

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Info says what a plugin is. It is the source of its description, which
// `collet-plugin-x describe` prints and hosts cache.
type Info struct {
	Name     string // "github": the file is called collet-plugin-github
	Version  string // semver; a leading v is dropped
	Summary  string // one line
	Homepage string // URL
	License  string // SPDX identifier
	// Environment names the variables the adapter would like to see. A plugin
	// process sees a short list of common ones and these, nothing else.
	Environment []string
	// MCPVersions are the MCP revisions the adapter can speak upstream, newest
	// first. Empty when it does not speak MCP upstream.
	MCPVersions []string
	// DefaultTimeout bounds one attempt of a call, DefaultStartTimeout spawn to
	// handshake, where mcp.toml does not say. Zero means the host's own defaults.
	DefaultTimeout, DefaultStartTimeout time.Duration
	// ConfigSchema replaces the JSON Schema derived from Main's config type.
	ConfigSchema json.RawMessage
}

// Server is one configured source of tools. Its methods are called from many
// goroutines at once. A Server may also implement Watcher, Forwarder,
// Reconfigurer and io.Closer; Close runs once, when the process is told to
// leave or its host is gone, and has 1.5 s.
type Server interface {
	// Tools returns every tool the server offers now, in any order.
	Tools(context.Context) ([]Tool, error)
	// Call runs one tool. The context ends at the host's deadline or when the
	// caller gave up. An error says that the call could not be carried out (see
	// package failure); a tool that ran and failed is a Result with IsError.
	Call(context.Context, *Call) (*Result, error)
}

// Watcher is a Server that knows more about its state than whether it was
// opened. Watch runs for the life of the process, from Configure to shutdown,
// in a goroutine of its own; its context ends at shutdown. A Server that is a
// Watcher starts out Connecting and reports by Events.Health; any other is Ready
// once open returned. A Watch that returns an error makes the server
// Unavailable.
type Watcher interface {
	Watch(ctx context.Context, ev *Events) error
}

// Forwarder is a Server that passes on MCP methods the host does not interpret:
// resources/*, prompts/*, completion/complete.
type Forwarder interface {
	// Methods returns the MCP methods that Forward accepts now.
	Methods() []string
	// Forward returns the MCP result object of one request.
	Forward(context.Context, *Request) (json.RawMessage, error)
}

// Reconfigurer is a Server that can take new settings while it runs. The config
// is already valid under the schema. Any other Server is restarted instead.
type Reconfigurer interface {
	Reconfigure(ctx context.Context, config json.RawMessage) error
}

// Closer is io.Closer, named here to complete the list of what a Server may be.
type Closer = io.Closer

// Tool is one tool as the host learns of it.
type Tool struct {
	Name string // without the server's prefix
	// Definition is the whole MCP tool object, byte for byte as its source gave it.
	Definition json.RawMessage
	// ReadOnly and Idempotent are what the adapter itself answers for, and what a
	// host may base a retry on; nil leaves only the annotations inside Definition,
	// which are hints of a stranger.
	ReadOnly, Idempotent *bool
	// AsksConsent asks that a person agrees before the first call of a session. The host
	// records what they were asked, the arguments.
	AsksConsent bool
	// OutputSchema is a JSON Schema for structuredContent where Definition has none.
	OutputSchema json.RawMessage
}

// Result is the answer of a tool that ran. Either JSON or Input is set.
type Result struct {
	// JSON is the whole MCP result object, byte for byte as received.
	JSON json.RawMessage
	// IsError says that the tool ran and reports a failure of its own.
	IsError bool
	// Input, when set, asks the caller for more before the tool can go on.
	Input *InputRequired
}

// InputRequired is the MCP input_required result (revision 2026-07-28): the
// caller answers Requests by calling again with InputResponses and State.
type InputRequired struct {
	Requests json.RawMessage // the MCP inputRequests object
	State    string          // opaque to everyone but the adapter
}
