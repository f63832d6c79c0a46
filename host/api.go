// Package host is collet as a Go library: it reads mcp.toml, reaches every
// server through an adapter process of its own, and calls their tools through
// one pipeline, whoever asks.
//
//	h, err := host.Open(ctx, host.Options{ConfigFiles: []string{"mcp.toml"}})
//	...
//	defer h.Close()
//	res, err := h.Call(ctx, host.Request{Tool: "files/read_text_file", Arguments: json.RawMessage(`{"path":"a"}`)})
//
// Open starts nothing; a server starts when something needs it. All methods are
// safe for concurrent use.
package host

import (
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/host/internal/server"
)

// Options say which configuration to use and where a host keeps its files.
type Options struct {
	// ConfigFiles are the mcp.toml files to read. They are trusted: what they name
	// is started. A host without any configuration has no servers.
	ConfigFiles []string
	// Layers are files that have been read, lowest layer first: what Discover
	// found. They exclude ConfigFiles.
	Layers []Layer
	// Watch has the host notice when its configuration files change, and take the
	// change over as Reload does. Of a file with faults the entries that work
	// count; of one that cannot be read or is no TOML, what it said before stays in
	// effect, and so does a project's file that is not trusted any more because it
	// changed. Problems has each of these; an event tells of every change.
	Watch bool
	// Places are where Discover found Layers; Watch looks there again.
	Places Places
	// PluginDirs are looked in before the directories that mcp.toml names. Plugins in
	// them are trusted as the program is; others are pinned.
	PluginDirs []string
	// FrozenPins has nothing pinned: a plugin that never was is not started, and new
	// tools stay new.
	FrozenPins bool
	// Environ is the environment that configuration values and children see, as
	// os.Environ returns it. Default: os.Environ().
	Environ []string
	// StateDir keeps server logs. Default: $XDG_STATE_HOME/collet.
	StateDir string
	// CredentialFile keeps the tokens of servers, sealed with the system's keyring where
	// there is one. Default: $XDG_CONFIG_HOME/collet/credentials.json.
	CredentialFile string
	// CacheDir keeps what can be learned again. Default: $XDG_CACHE_HOME/collet.
	CacheDir string
	// Log receives the host's own log records. Default: none are kept.
	Log *slog.Logger
	// LogLevel, when it is not nil, is set by Open to the log_level of mcp.toml, if
	// that says one.
	LogLevel *slog.LevelVar
	// Version is told to adapters. Default: "dev".
	Version string
	// Asks says that callers can be asked: upstreams are told so when they start, and
	// Request.Ask answers them. Without it Ask is of use for input_required alone.
	// Front implies it. Default: nobody can be asked, which spares each server a
	// connection of its own.
	Asks bool
	// Consent asks a person before a call of a tool that needs their consent, where
	// Request.Consent does not. Default: Request.Ask does, or else nobody is asked and
	// the call fails with consent-required.
	Consent Consenter
	// Record is written what goes over the boundary between host and adapters, in the
	// format of package recording, one Write for each line, from many goroutines one at
	// a time. Secrets are replaced by their names. The first error ends it;
	// no call fails for that. Default: nothing is recorded.
	Record io.Writer
	// Telemetry sends traces and metrics where [host.telemetry] says, and lets metrics
	// be read at /metrics of Handler. It is for a process that runs for long, and sets
	// OpenTelemetry's error handler for all of it. Default: only the audit log is kept.
	Telemetry bool
	// TracerProvider and MeterProvider are a program's own OpenTelemetry, which is told
	// of every call in the place of what mcp.toml says.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
}

// Exposure says who may see and call a tool (direct, deferred, codemode, hidden).
type Exposure = exposure.Exposure

// The exposures of mcp.toml.
const (
	Direct   = exposure.Direct
	Deferred = exposure.Deferred
	Codemode = exposure.Codemode
	Hidden   = exposure.Hidden
)

// Caller says on whose behalf a call is made.
type Caller = exposure.Caller

// The callers.
const (
	Model   = exposure.Model
	Script  = exposure.Script
	CLI     = exposure.CLI
	Program = exposure.Program
)

// Problem is one fault of a configuration file: Error() reads
// "mcp.toml:12: servers.github.timeout: ...".
type Problem = config.Problem

// Request is one call of one tool.
type Request = call.Request

// Result is what the tool answered, byte for byte, with what the host did to
// get it. A tool that says it failed has IsError set.
type Result = call.Result

// InputRequired is what an upstream needs before it goes on with a call.
type InputRequired = call.InputRequired

// Logger takes one log record of a call.
type Logger = call.Logger

// Asker answers what an upstream asks the caller's side in the middle of a call.
type Asker = call.Asker

// Consenter asks a person before a call. The error is that nobody can be asked.
type Consenter = call.Consenter

// ConsentQuestion is what the person is asked.
type ConsentQuestion = call.Question

// ConsentAnswer is what they said. The zero value is a no.
type ConsentAnswer = call.Answer

// Via says how a model calls a tool.
type Via = exposure.Via

// The ways of a model.
const (
	ByName   = exposure.ByName
	ByBridge = exposure.ByBridge
)

// ForwardRequest is one MCP request that the host does not interpret.
type ForwardRequest = call.ForwardRequest

// ServerInfo is what a server's upstream said of itself, raw, and which methods
// Forward takes for it.
type ServerInfo = server.Introduction

// Failure is the error of every method that reaches for a server: why, with
// class and delivery, and what is known about the server's end.
type Failure = call.Failure

// Progress is one progress report of a running call.
type Progress = call.Progress

// Retry says when a failed call is made a second time.
type Retry = call.Retry

// The retry modes of mcp.toml.
const (
	RetrySafe   = call.RetrySafe
	RetryAlways = call.RetryAlways
	RetryNever  = call.RetryNever
)

// Query selects tools.
type Query struct {
	// Pattern is SERVERS or SERVERS/TOOLS, two globs: before the first slash over
	// the names of servers, after it over those of their tools ("github",
	// "github/*_issue", "*/read_*"). "*" stands for any characters, "?" for one.
	// Only the servers it names are started. Empty: every server.
	Pattern string
	// Exposure keeps only the tools of that exposure. Empty: all but hidden.
	Exposure Exposure
	// Wait bounds the wait for servers that are still starting. Default 30 s.
	Wait time.Duration
	// Withheld has the tools listed, too, that cannot be called because their servers
	// have rewritten them.
	Withheld bool
	// Refresh asks servers that are already running for their tools again.
	Refresh bool
	// Recall answers with what a server offered an earlier host within the last day,
	// under the same settings, in the place of starting it: Server.Asked says when that
	// was, and Tool.Stale marks its tools. Only the other servers are waited for.
	Recall bool
	// Judge has the schemas of the tools looked at, so that Tool.Unchecked answers at
	// once, also in another process that the list is handed to.
	Judge bool
}

// Tool is one tool as the host knows it.
type Tool struct {
	Name        string   // "<server>/<tool>"
	WireName    string   // its spelling toward model clients; empty when, without prefixes, another tool claims it too
	Server      string   //
	Title       string   //
	Description string   //
	Exposure    Exposure //
	ReadOnly    bool     // by the adapter's word, or by annotation
	Consent     string   // ask: a person is asked before each call; deny: there are no calls; allow
	Stale       bool     // its server has not been asked by this host: see Server.Asked
	// Rewritten: its server has changed the definition since it was accepted. With
	// on_change = "block" it is Withheld, which is to say that it cannot be called.
	Rewritten, Withheld bool

	InputSchema  json.RawMessage // as the server wrote it
	OutputSchema json.RawMessage // nil when there is none
	Definition   json.RawMessage // the whole MCP tool object

	unchecked func() string  // nil for a Tool that no host made
	verdict   func() *string // likewise; returns nil as long as nobody has asked unchecked

	serverIdentifier, identifier string // how scripts spell it; empty for a Tool that no host made
}

// Unchecked says why arguments are not validated; empty means they are. Who asks
// first, of all processes that use one state directory and are of one build, waits
// for the schema to be compiled, a millisecond for most.
func (t *Tool) Unchecked() string {
	if t.unchecked != nil {
		return t.unchecked()
	}
	return schema.Compile([]byte(cmp.Or(string(t.InputSchema), `{}`))).Unchecked()
}

// Verdict is what Unchecked says when that is known already.
func (t *Tool) Verdict() (unchecked string, known bool) {
	if t.verdict == nil {
		return "", false
	}
	v := t.verdict()
	if v == nil {
		return "", false
	}
	return *v, true
}

// TakeVerdict is for a copy of a tool that came from another process's host: what that
// knows of Unchecked.
func (t *Tool) TakeVerdict(unchecked string) {
	t.unchecked, t.verdict = func() string { return unchecked }, func() *string { return &unchecked }
}

// InScript is how scripts spell the tool's server and the tool; empty for a Tool
// that no host made.
func (t *Tool) InScript() (server, tool string) { return t.serverIdentifier, t.identifier }

// SpellInScript is for a copy of a tool that came from another process's host.
func (t *Tool) SpellInScript(server, tool string) { t.serverIdentifier, t.identifier = server, tool }

// Server is one configured server and how it is.
type Server struct {
	Name   string
	State  string // idle, starting, ready, degraded, backing-off, failed, stopped, disabled, misconfigured
	Plugin string // the adapter's name, "mcp" for the generic one
	// Error says why the server is not ready, in a Listing why its tools are
	// missing or those of an earlier list, "still starting" included.
	Error string
	// Failure is why a start failed, the process ended, or the upstream is in
	// trouble.
	Failure *Failure
	// Asked is, in a Listing, when the server was last asked for the tools that are
	// there, if that was not by this host. Zero: this host has asked it, or nobody.
	Asked   time.Time
	Version string // the upstream's own name and version, when known
	Pid     int    // of the adapter process, 0 when none runs
	LogFile string
}

// Listing is the answer to a Query: tools sorted by name, and all servers the
// query concerns, sorted by name.
type Listing struct {
	Tools   []Tool
	Servers []Server
}

// Event is something that happened; exactly one of its fields is set.
type Event struct {
	CallStarted    *CallEvent
	CallFinished   *CallEvent
	ServerChanged  *ServerEvent
	CatalogChanged *CatalogEvent
	ConfigChanged  *ConfigEvent
	Notified       *NotifiedEvent
	Denied         *DeniedEvent
}

// CallEvent tells of one call, or of one request that Forward passes on: its Method
// says which. It is the record of who called what; the audit log is made of it.
type CallEvent = call.Event

// ServerEvent tells that a server's state changed.
type ServerEvent struct {
	Server, State string
	Failure       *Failure
}

// CatalogEvent tells that a server's list of tools changed.
type CatalogEvent struct{ Server string }

// ConfigEvent tells that another configuration is in effect. What its servers do
// about it is told as it happens.
type ConfigEvent struct{ Problems []Problem }

// NotifiedEvent tells what an upstream announces about that which Forward passes
// on: "notifications/resources/updated", "notifications/prompts/list_changed".
type NotifiedEvent struct {
	Server, Method string
	Params         json.RawMessage // as written; nil when there are none
}

// DeniedEvent tells of a request over HTTP that was refused, and why.
type DeniedEvent = guard.Denial
