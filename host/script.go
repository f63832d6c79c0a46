package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/codemode/child"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/server"
)

// What a script may use, what came of it, and why: see package codemode.
type (
	ScriptLimits  = codemode.Limits
	ScriptStore   = codemode.Store
	ScriptCall    = codemode.CallEvent
	ScriptOutcome = codemode.Outcome
	ScriptError   = codemode.Error
	ScriptKind    = codemode.Kind
)

// ScriptRequest is one script and on whose behalf it runs.
type ScriptRequest struct {
	// Source is JavaScript or TypeScript: the body of an async function, or one
	// expression, which is called when it is a function. It may be in a Markdown fence.
	Source string
	// Args is what the script sees as args, any JSON value. Nil is undefined.
	Args json.RawMessage
	// ID names the script in the records of its calls, as their parent, and seeds
	// Math.random. Default: a random one.
	ID string
	// Limits of the script. What is zero is as [host.codemode] says.
	Limits ScriptLimits
	// Store keeps values between scripts. Nil: this script's last no longer than it.
	Store *ScriptStore
	// Deterministic has the script's clock stand still at Now, or where that is zero,
	// at the start of 2026.
	Deterministic bool
	Now           time.Time
	// OnCall is told of every call, when it begins and when it has ended, in order. It
	// must not block.
	OnCall func(ScriptCall)

	// Owner and Session say whose calls these are: see Request.
	Owner, Session string
	// Allow narrows what the script sees and may call, by canonical names. Nil: all
	// that is not hidden.
	Allow func(tool string) bool
	// AllowServer narrows the servers likewise: a tool needs both. Of a server that it
	// may not use a script does not learn that it is there, and does not start it.
	AllowServer func(server string) bool
	// Patterns narrows both likewise, as Query.Pattern does: to what any of them names.
	// It stands in the place of Allow and AllowServer. Nil: they count.
	Patterns []string
	// DryRun makes only calls of tools that are known to be read-only; of others it
	// notes that they would be made, and the script gets {} for an answer.
	DryRun bool
	// Ask answers what upstreams ask in the middle of a call. The script's time does not
	// run meanwhile.
	Ask Asker
	// AskFor is the Asker of the calls of one tool, and stands in the place of Ask where
	// it is set.
	AskFor func(tool string) Asker
	// Meta, OnLog and OnProgress are those of each call: see Request.
	Meta       json.RawMessage
	OnLog      func(level, logger string, data json.RawMessage)
	OnProgress func(tool string, p Progress)
	// Consent asks a person before a call that needs it; see Request. The script's time
	// does not run meanwhile either.
	Consent Consenter

	// startWait bounds the wait for servers that the source names: 0 is as long as they
	// take to start. The calls of others start them.
	startWait time.Duration
}

// scriptable is set when this program has shown that it can be a script's process.
var scriptable atomic.Bool

// ScriptProcess has to be the first thing that a program does which runs scripts.
// Each script has a process of its own, for which the program is started again: in
// that process ScriptProcess does not return.
func ScriptProcess() {
	if len(os.Args) == 2 && os.Args[1] == codemode.ChildArgument {
		os.Exit(child.Main())
	}
	scriptable.Store(true)
}

// Run runs a script. What it ran into is in the outcome; the error is that it did not
// run at all.
func (h *Host) Run(ctx context.Context, s ScriptRequest) (ScriptOutcome, error) {
	if !scriptable.Load() {
		return ScriptOutcome{}, errors.New("run a script: this program does not call host.ScriptProcess at its start")
	}
	if s.Patterns != nil {
		named := name.Patterns(s.Patterns)
		s.Allow, s.AllowServer = named.Tool, named.Server
	}
	b := &bridge{host: h, script: &s}
	b.start(ctx)
	return h.scripts.Run(ctx, codemode.Script{
		Source: s.Source, Args: s.Args, ID: s.ID, Limits: h.limitsOf(s.Limits), Store: s.Store,
		Deterministic: s.Deterministic, Now: s.Now, OnCall: s.OnCall,
		Owner: s.Owner + " " + s.Session,
	}, b)
}

// PrepareScripts starts a process for the next script, and from now on keeps one
// ready. It is for hosts that run scripts again and again.
func (h *Host) PrepareScripts(ctx context.Context) error {
	if !scriptable.Load() {
		return errors.New("prepare for scripts: this program does not call host.ScriptProcess at its start")
	}
	return h.scripts.Prepare(ctx)
}

// bridge makes the calls of one script through the pipeline.
type bridge struct {
	host   *Host
	script *ScriptRequest
}

// start brings up the servers that the script names, so that it sees their tools. One
// that does not come up fails its calls.
func (b *bridge) start(ctx context.Context) {
	var named []string
	for _, n := range b.host.hub.Names() {
		s := b.host.hub.Server(n)
		if s == nil || !b.allowsServer(n) {
			continue
		}
		if _, listed := s.Tools(); !listed && b.mentions(n) {
			named = append(named, n)
		}
	}
	if b.script.startWait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.script.startWait)
		defer cancel()
	}
	b.host.hub.Ready(ctx, named, false)
}

// mentions reports whether the source may name the server.
func (b *bridge) mentions(server string) bool {
	return hasWord(b.script.Source, server) || hasWord(b.script.Source, name.ServerIdentifiers([]string{server})[server])
}

// hasWord reports whether text has a word that is no part of a longer one. The word is
// a name, the text a script.
func hasWord(text, word string) bool {
	part := func(c byte) bool {
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || !part(text[i-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		at = i + 1
	}
}

// Servers implements codemode.Host.
func (b *bridge) Servers(context.Context) []codemode.Server {
	h := b.host.hub
	names := h.Names()
	identifiers := name.ServerIdentifiers(names)
	var out []codemode.Server
	for _, n := range names {
		s := h.Server(n)
		if s == nil || !b.allowsServer(n) {
			continue
		}
		_, listed := s.Tools()
		seen := codemode.Server{Name: n, Identifier: identifiers[n], Open: !listed}
		ids := b.identifiers(s)
		for _, t := range b.tools(s) {
			seen.Tools = append(seen.Tools, codemode.Tool{Name: t, Identifier: ids[t]})
		}
		if listed && len(seen.Tools) == 0 {
			continue // it has none, or none for this script
		}
		out = append(out, seen)
	}
	return out
}

// tools are the names of the server's tools that the script sees.
func (b *bridge) tools(s *server.Server) []string {
	tools, _ := s.Tools()
	rules := s.Settings().Rules
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		if rules.Of(t.Name) != Hidden && b.allows(t.FullName()) {
			names = append(names, t.Name)
		}
	}
	return names
}

// identifiers are how scripts spell the server's tools: those that are not hidden,
// whichever of them this script may call.
func (b *bridge) identifiers(s *server.Server) map[string]string {
	tools, _ := s.Tools()
	rules := s.Settings().Rules
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		if rules.Of(t.Name) != Hidden {
			names = append(names, t.Name)
		}
	}
	return name.Identifiers(s.Name(), names)
}

func notAllowed(tool string) *codemode.ToolError {
	return &codemode.ToolError{Code: codemode.CodeDenied, Message: "this script may not call " + tool}
}

func (b *bridge) allows(tool string) bool { return b.script.Allow == nil || b.script.Allow(tool) }

func (b *bridge) allowsServer(server string) bool {
	return b.script.AllowServer == nil || b.script.AllowServer(server)
}

// narrow reports whether there may be tools or servers of which this script must not
// learn that they are there.
func (b *bridge) narrow() bool { return b.script.Allow != nil || b.script.AllowServer != nil }

// Call implements codemode.Host.
func (b *bridge) Call(ctx context.Context, c codemode.Call) (json.RawMessage, error) {
	if !b.allowsServer(c.Server) {
		return nil, notAllowed(name.Join(c.Server, c.Tool))
	}
	tool := b.resolve(ctx, c.Server, c.Tool)
	if !b.allows(tool) {
		return nil, notAllowed(name.Join(c.Server, c.Tool)) // as it was asked for: tool would tell that it is there
	}
	if b.script.DryRun {
		// What cannot be found now is not called either: it may be there a moment later.
		t, s, err := b.host.hub.Find(ctx, tool)
		if err != nil {
			return nil, b.toolError(ctx, tool, unfound(c.Server, c.Tool, err))
		}
		if !readOnly(t, s) {
			return nil, codemode.ErrNotMade
		}
	}
	var progress func(Progress)
	if b.script.OnProgress != nil {
		progress = func(p Progress) { b.script.OnProgress(tool, p) }
	}
	res, err := b.host.Call(ctx, Request{
		Tool: tool, Arguments: c.Arguments, Caller: Script, Owner: b.script.Owner, Parent: c.Parent, Session: b.script.Session, Timeout: c.Timeout,
		MaxResult: codemode.MaxResult, Admit: c.Admit, Ask: b.asker(tool, c.Rest), Consent: b.consenter(c.Rest), Meta: b.script.Meta, OnLog: b.script.OnLog, OnProgress: progress,
	})
	if err != nil {
		return nil, b.toolError(ctx, tool, err)
	}
	return res.JSON, nil
}

// resolve is the canonical name of a tool that a script spells by name or identifier:
// the tools of a server that was not up when the script began are not known to it.
func (b *bridge) resolve(ctx context.Context, server, tool string) string {
	canonical := name.Join(server, tool)
	_, s, err := b.host.hub.Find(ctx, canonical)
	if err == nil || s == nil {
		return canonical
	}
	for n, id := range b.identifiers(s) {
		if id == tool {
			return name.Join(server, n)
		}
	}
	return canonical
}

// readOnly reports whether the tool is known to change nothing: by its adapter's word,
// or by annotation where the user trusts that server's hints.
func readOnly(t *catalog.Tool, s *server.Server) bool {
	return t.Word.ReadOnly || s.Settings().TrustHints && t.Claim.ReadOnly
}

// asker has the script's time stand still while a question is open.
func (b *bridge) asker(tool string, rest func() func()) Asker {
	ask := b.script.Ask
	if b.script.AskFor != nil {
		ask = b.script.AskFor(tool)
	}
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		defer rest()()
		return ask(ctx, method, params)
	}
}
