package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/server"
)

// settleWait is how long a server that has just started is watched before it
// counts as well: one that ends after its list of tools does so within moments.
const settleWait = time.Second

// DiagnoseQuery says what to look at.
type DiagnoseQuery struct {
	// Servers are names of servers, or globs over them. Empty: all.
	Servers []string
	// Wait bounds the wait for servers that are starting. Default 30 s.
	Wait time.Duration
	// Discovery is how the configuration was found, when nobody named it: a
	// project's file that does not count is told.
	Discovery *Discovery
}

// Diagnosis is what a host found out about its surroundings and its servers. It
// holds no value of the configuration: texts of servers have the names of values
// in their place.
type Diagnosis struct {
	Host     HostDiagnosis
	Servers  []ServerDiagnosis // sorted by name
	Duration time.Duration
}

// HostDiagnosis is about what all servers share.
type HostDiagnosis struct {
	Version     string
	ConfigFiles []string
	StateDir    string
	CacheDir    string
	SocketDir   string   // of this process; empty when none can be made
	PluginDirs  []string // those that mcp.toml names
	Hooks       []HookStatus
	Findings    []Finding
}

// ServerDiagnosis is about one server. What was not reached is zero.
type ServerDiagnosis struct {
	Name   string
	State  string // as Server.State
	File   string // of its entry
	Line   int
	Plugin PluginDiagnosis
	Values []ValueDiagnosis
	// Command is what a command server starts; nil for others, and when its values
	// cannot be resolved.
	Command *CommandDiagnosis
	Started time.Duration // how long it took to be ready; 0 when it is not, or was before
	// Upstream is what it said of itself; nil when it said nothing yet.
	Upstream  *UpstreamDiagnosis
	Listed    bool // its tools are known
	Tools     int
	Unchecked []UncheckedSchema
	Rewritten []string      // tools whose definitions are not those that were accepted
	WireNames []AlteredName // tools whose wire name is not the usual one
	OddNames  []string      // tools whose names are not those of MCP
	// ListChanges is how often its list of tools changed while it was looked at.
	ListChanges int
	Findings    []Finding
	StderrTail  []string // what it wrote to stderr meanwhile: the last lines, oldest first
	LogFile     string

	remote bool // it is reached by a url
	login  bool // a person can log in to it
	tokens bool // it is known to want tokens
}

// PluginDiagnosis is about a server's adapter.
type PluginDiagnosis struct {
	Name    string // as in mcp.toml, "mcp" for the generic one
	Path    string // empty when it was not found
	Version string // by its own word
}

// ValueDiagnosis is one value of an entry that takes something from outside the
// file. The value itself is not in it.
type ValueDiagnosis struct {
	Key       string // dotted: "servers.github.config.token"
	Line      int
	Variables []VariableDiagnosis
	Command   bool // it is what a !command prints
}

// VariableDiagnosis is one variable that a value names.
type VariableDiagnosis struct {
	Name  string
	State string // set, default (unset, the default counts), missing
}

// CommandDiagnosis is about the program of a command server.
type CommandDiagnosis struct {
	Name string // as in mcp.toml, expanded
	Path string // the file that is executed; empty when it was not found
	// Interpreter is what a script at Path is for, as its first line says.
	Interpreter string
	Missing     string   // the command, or its interpreter, when it was not found
	SearchPath  []string // the directories of the server's PATH
	// Elsewhere are directories outside SearchPath that exist and that programs are
	// often in, those of version managers above all; set when a name is Missing.
	Elsewhere []string
	FoundIn   string // the first of Elsewhere that has what is Missing
}

// UpstreamDiagnosis is what an upstream said of itself.
type UpstreamDiagnosis struct {
	Name, Version   string
	ProtocolVersion string // the MCP revision spoken with it; empty when its adapter speaks no MCP
	Era             string // modern (server/discover: 2026-07-28 on) or legacy (initialize); empty without MCP
	ListChanged     bool   // it announces changes of its list
}

// UncheckedSchema is a schema that nothing is validated against.
type UncheckedSchema struct {
	Tool   string // without the server's name
	Schema string // inputSchema or outputSchema
	Reason string
}

// AlteredName is a tool whose wire name is not its usual spelling.
type AlteredName struct {
	Tool     string // without the server's name
	WireName string // empty when, without prefixes, another tool claims it too
}

// Kind says what a finding is about, and with that how bad it is.
type Kind string

// The kinds, worst first: what a person has to repair comes before what may pass
// by itself. A server that is degraded serves its tools, and says that its upstream is
// in trouble. A note is worth knowing, and nothing is wrong.
const (
	KindConfiguration Kind = "configuration" // mcp.toml, or a value it names
	KindAuth          Kind = "auth"          // a credential or a consent is missing
	KindUnreachable   Kind = "unreachable"   // it cannot be started or reached, ended, or answers with errors
	KindTimeout       Kind = "timeout"       // no answer in time
	KindDegraded      Kind = "degraded"      // its tools are there, and calls of them may fail for now
	KindNote          Kind = "note"
)

var kinds = []Kind{KindNote, KindDegraded, KindTimeout, KindUnreachable, KindAuth, KindConfiguration}

// Fails reports whether a server with a finding of that kind does not work.
func (k Kind) Fails() bool { return k != KindNote && k != KindDegraded }

// Finding is one thing that is wrong, or worth knowing.
type Finding struct {
	Kind    Kind
	Check   string // what was looked at: config, plugin, value, command, start, ... (docs/cli.md)
	Message string
	Advice  string // what to do, on one line; may be empty for a note
	// File, Line, Column and Key are the place in the configuration, if it has one.
	File         string
	Line, Column int
	Key          string
}

// Worst is the worst kind among all findings, KindNote when nothing is wrong.
func (d *Diagnosis) Worst() Kind {
	worst := d.Host.Worst()
	for i := range d.Servers {
		worst = worse(worst, d.Servers[i].Worst())
	}
	return worst
}

// Worst is the worst kind among the host's own findings, KindNote when nothing is
// wrong.
func (h *HostDiagnosis) Worst() Kind { return worstOf(h.Findings) }

// Worst is the worst kind among the server's findings, KindNote when nothing is
// wrong with it.
func (s *ServerDiagnosis) Worst() Kind { return worstOf(s.Findings) }

func worstOf(findings []Finding) Kind {
	worst := KindNote
	for _, f := range findings {
		worst = worse(worst, f.Kind)
	}
	return worst
}

func worse(a, b Kind) Kind {
	if slices.Index(kinds, b) > slices.Index(kinds, a) {
		return b
	}
	return a
}

// Diagnose looks at the host's surroundings and at the servers that q names: it
// goes through the steps of a start one by one, starts those that do not run, side
// by side, and says of each how far it came, what is wrong, and what to do. It
// takes at most q.Wait and a moment. The error is a canceled ctx, or a *Failure,
// not-found, when q names a server that there is not.
func (h *Host) Diagnose(ctx context.Context, q DiagnoseQuery) (*Diagnosis, error) {
	names, fail := h.diagnosed(q.Servers)
	if fail != nil {
		return nil, fail
	}
	begun := time.Now()
	wait, cancel := context.WithTimeout(ctx, cmp.Or(q.Wait, defaultWait))
	defer cancel()
	news := newNews(names)
	defer h.Subscribe(news.note)()

	d := &Diagnosis{Host: h.surroundings(q.Discovery), Servers: make([]ServerDiagnosis, len(names))}
	d.Host.hooks(h.Hooks(wait))
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() { d.Servers[i] = h.examine(wait, n, news) })
	}
	wg.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	d.Host.writers(h.plugins.now.Load(), d.Servers)
	wires := h.hub.WireNames() // only now: without prefixes they depend on all servers
	for i := range d.Servers {
		if s := h.hub.Server(names[i]); s != nil {
			d.Servers[i].ListChanges = news.lists(names[i])
			d.Servers[i].conclude(s, wires)
		}
	}
	d.Duration = time.Since(begun)
	return d, nil
}

// diagnosed are the names of the servers that patterns name, sorted.
func (h *Host) diagnosed(patterns []string) ([]string, *Failure) {
	if len(patterns) == 0 {
		return h.hub.Names(), nil
	}
	var out []string
	for _, p := range patterns {
		found := false
		for _, n := range h.hub.Names() {
			if name.Match(p, n) {
				out, found = append(out, n), true
			}
		}
		if !found {
			return nil, ofServer("", h.hub.NoServer(p))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// news is what happens to servers while they are looked at.
type news struct {
	mu      sync.Mutex
	listed  map[string]int
	changes map[string]chan struct{} // a change of state; one signal is enough
}

func newNews(names []string) *news {
	n := &news{listed: map[string]int{}, changes: map[string]chan struct{}{}}
	for _, s := range names {
		n.changes[s] = make(chan struct{}, 1)
	}
	return n
}

func (n *news) note(e Event) {
	switch {
	case e.CatalogChanged != nil:
		n.mu.Lock()
		n.listed[e.CatalogChanged.Server]++
		n.mu.Unlock()
	case e.ServerChanged != nil:
		select {
		case n.changes[e.ServerChanged.Server] <- struct{}{}:
		default: // somebody else's, or known already
		}
	}
}

// lists is how often a server's list changed after it was first read.
func (n *news) lists(server string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return max(n.listed[server]-1, 0)
}

// settle watches a server that is ready until something happens to it, or nothing
// has for a while.
func (n *news) settle(ctx context.Context, s *server.Server) {
	change := n.changes[s.Name()]
	select {
	case <-change: // its start
	default:
	}
	if s.Status().State != server.Ready {
		return
	}
	quiet := time.NewTimer(settleWait)
	defer quiet.Stop()
	select {
	case <-change:
	case <-quiet.C:
	case <-ctx.Done():
	}
}
