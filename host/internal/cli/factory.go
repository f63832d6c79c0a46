// Package cli is the command line: it turns words into calls of package host and
// answers into text, JSON and exit codes. Each command is a file with its options
// and a run function that sees nothing global.
//
// It never reaches a server but through package host, and nothing imports it but
// collet's main and what writes its manual pages.
package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// catalog is what a host knows without calling anything.
type catalog interface {
	Problems() []host.Problem
	Servers() []host.Server
	HookLogs() []host.HookLog
	Tools(ctx context.Context, q host.Query) (*host.Listing, error)
	Known(ctx context.Context, name string) (*host.Tool, time.Time)
}

// caller reaches one tool.
type caller interface {
	Tool(ctx context.Context, name string) (*host.Tool, error)
	Call(ctx context.Context, req host.Request) (*host.Result, error)
}

// runner runs scripts.
type runner interface {
	Run(ctx context.Context, s host.ScriptRequest) (host.ScriptOutcome, error)
}

// previewer shows what a model would get.
type previewer interface {
	Search(ctx context.Context, q host.SearchQuery) (json.RawMessage, error)
	Instructions() string
	Prompt(e host.Exposure, servers []string) host.Prompt
	Definitions(servers []string) map[string]json.RawMessage
}

// stocktaker knows plugins, and what was accepted of them and of tools.
type stocktaker interface {
	Plugins(ctx context.Context) ([]host.Plugin, error)
	ReviewTools(ctx context.Context, servers []string, wait time.Duration) ([]host.ToolPins, error)
	AcceptPlugin(ctx context.Context, p *host.Plugin) error
	AcceptTools(ctx context.Context, t *host.ToolPins, names []string) error
	ForgetTools(ctx context.Context, t *host.ToolPins, names []string) error
}

// openHost is a *host.Host.
type openHost interface {
	catalog
	authenticator
	caller
	runner
	diagnoser
	previewer
	stocktaker
	io.Closer
	Front() frontend
	Handler(opt host.HTTPOptions) (endpoint, error)
	Subscribe(f func(host.Event)) (cancel func())
}

// opened is a host as commands see it.
type opened struct{ *host.Host }

// Front opens the host's MCP face.
func (o opened) Front() frontend { return o.Host.Front() }

// Handler opens the host's HTTP face.
func (o opened) Handler(opt host.HTTPOptions) (endpoint, error) { return o.Host.Handler(opt) }

// Factory makes what commands need.
type Factory struct {
	Streams *terminal.Streams
	Getenv  func(string) string
	Version string
	// Open opens a host; a field so that tests put another in its place.
	Open func(ctx context.Context, opt host.Options) (openHost, error)
	// Discover finds the configuration of who names none, from the directory dir
	// on; "" is the working directory.
	Discover func(dir string) *host.Discovery

	configFile, logLevel string
	noColor              bool
	record               io.Writer // what is recorded goes there, if anybody wants that
	shares               bool      // hosts of other processes count, and this one's is for them
	frozen               bool      // the host that is opened pins nothing
	follows              bool      // the host that is opened follows its files
	askable              bool      // servers of the host that is opened may ask
	homeless             error     // why there is no place for a host's files
	told                 []string  // the problems that open has told
	log                  string    // the file that stderr goes to, if it goes to one
}

// New returns the factory of the real command.
func New(streams *terminal.Streams, getenv func(string) string, version string) *Factory {
	return &Factory{
		Streams: streams,
		Getenv:  getenv,
		Version: version,
		Open: func(ctx context.Context, opt host.Options) (openHost, error) {
			h, err := host.Open(ctx, opt)
			if err != nil {
				return nil, err
			}
			return opened{h}, nil
		},
		Discover: func(dir string) *host.Discovery { return host.Discover(host.Places{Dir: dir}) },
	}
}

// open opens the host of the configuration and tells its problems on stderr;
// nothing is started by that. A person at a terminal is asked about a project's
// file that is not trusted.
func (f *Factory) open(ctx context.Context) (openHost, error) {
	h, err := f.reach(ctx, true)
	if err != nil {
		return nil, err
	}
	unread := false
	for _, p := range h.Problems() {
		f.told = append(f.told, problemText(p))
		unread = unread || p.Key == "" && p.Server == ""
	}
	// A file that was skipped whole is no configuration without servers.
	if unread && len(h.Servers()) == 0 {
		_ = h.Close() // it has started nothing
		return nil, exitf(exitConfiguration, "%s", strings.Join(f.told, "\ncollet: "))
	}
	for _, text := range f.told {
		f.Streams.Note("collet: %s", text)
	}
	return h, nil
}

// openOwn is open for what no host of another process does for this one.
func (f *Factory) openOwn(ctx context.Context) (openHost, error) {
	f.shares = false
	return f.open(ctx)
}

// openAsking is open for a command that can answer what servers ask in the middle of a
// call.
func (f *Factory) openAsking(ctx context.Context) (openHost, error) {
	f.askable = true
	return f.open(ctx)
}

// openSilently opens the host without telling problems and without a question:
// for completions too.
func (f *Factory) openSilently(ctx context.Context) (openHost, error) {
	return f.openHost(ctx, false)
}

// openServing is open for a host that runs for long: it follows its files, and tells
// the problems of each configuration once it counts. Nobody is asked, stdin may be a
// client's.
func (f *Factory) openServing(ctx context.Context) (openHost, error) {
	f.follows, f.askable = true, true
	h, err := f.openSilently(ctx)
	if err != nil {
		return nil, err
	}
	f.tell(h.Problems())
	starts := newStarts(f.Streams)
	h.Subscribe(func(e host.Event) {
		switch {
		case e.ConfigChanged != nil:
			f.Streams.Note("collet: the configuration changed")
			f.tell(e.ConfigChanged.Problems)
		case e.ServerChanged != nil:
			starts.heard(e.ServerChanged)
		}
	})
	return h, nil
}

func (f *Factory) tell(problems []host.Problem) {
	for _, p := range problems {
		f.Streams.Note("collet: %s", problemText(p))
	}
}

// openHost opens the host of the configuration that counts. With ask a person at
// a terminal is asked about a project's file that is not trusted.
func (f *Factory) openHost(ctx context.Context, ask bool) (openHost, error) {
	if f.homeless != nil {
		return nil, exitf(exitConfiguration, "%v", f.homeless)
	}
	layers, err := f.counting(ctx, ask)
	if err != nil {
		return nil, err
	}
	return f.openLayers(ctx, layers)
}

// reach is openHost for commands that can do with a host that another process runs.
func (f *Factory) reach(ctx context.Context, ask bool) (openHost, error) {
	if f.homeless != nil {
		return nil, exitf(exitConfiguration, "%v", f.homeless)
	}
	if _, err := logLevel(f.logLevel); err != nil {
		return nil, err
	}
	layers, err := f.counting(ctx, ask)
	if err != nil {
		return nil, err
	}
	if h := f.running(ctx, layers); h != nil {
		return h, nil
	}
	return f.openLayers(ctx, layers)
}

// counting are the layers that count; none when a file is named.
func (f *Factory) counting(ctx context.Context, ask bool) ([]host.Layer, error) {
	if f.named() != "" {
		return nil, nil
	}
	return f.layers(ctx, ask)
}

// openLayers is the one place where a host is opened: of the file that is named,
// or of layers when none is.
func (f *Factory) openLayers(ctx context.Context, layers []host.Layer) (openHost, error) {
	said, err := logLevel(f.logLevel)
	if err != nil {
		return nil, err
	}
	var level slog.LevelVar
	level.Set(said)
	opt := host.Options{
		Layers:  layers,
		Watch:   f.follows, // of layers, where f.layers finds them: from the working directory
		Log:     slog.New(slog.NewTextHandler(f.Streams.Err, &slog.HandlerOptions{Level: &level})),
		Version: f.Version,
		Record:  f.record,
		Asks:    f.askable,

		FrozenPins: f.frozen,
		Telemetry:  f.follows, // which is to say: it serves
	}
	if f.logLevel == "" {
		opt.LogLevel = &level
	}
	if file := f.named(); file != "" {
		opt.ConfigFiles, opt.Layers = []string{file}, nil
	}
	h, err := f.Open(ctx, opt)
	if err != nil {
		return nil, exitf(exitConfiguration, "%v", err)
	}
	return h, nil
}

// logLevel reads --log-level.
func logLevel(word string) (slog.Level, error) {
	switch word {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error", "": // what a command has to tell it tells itself
		return slog.LevelError, nil
	}
	return 0, usagef("--log-level %s: it must be one of debug, info, warn, error", word)
}
