// Package cli is the command line: it turns words into calls of package host and
// answers into text, JSON and exit codes. Each command is a file with its options
// and a run function that sees nothing global.
//
// It never reaches a server but through package host, and nothing imports it but
// collet's main.
package cli

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// catalog is what a host knows without calling anything.
type catalog interface {
	Problems() []host.Problem
	Servers() []host.Server
	Tools(ctx context.Context, q host.Query) (*host.Listing, error)
}

// caller reaches one tool.
type caller interface {
	Tool(ctx context.Context, name string) (*host.Tool, error)
	Call(ctx context.Context, req host.Request) (*host.Result, error)
}

// openHost is a *host.Host.
type openHost interface {
	catalog
	caller
	diagnoser
	io.Closer
}

// Factory makes what commands need.
type Factory struct {
	Streams *terminal.Streams
	Getenv  func(string) string
	Version string
	// Open opens a host; a field so that tests put another in its place.
	Open func(ctx context.Context, opt host.Options) (openHost, error)

	configFile, logLevel string
	noColor              bool
	homeless             error    // why there is no place for a host's files
	told                 []string // the problems that open has told
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
			return h, nil
		},
	}
}

// open opens the host of the named configuration and tells its problems on
// stderr; nothing is started by that.
func (f *Factory) open(ctx context.Context) (openHost, error) {
	h, err := f.openSilently(ctx)
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

// openSilently is the one place where a host is opened: for completions too, so
// it asks nobody anything.
func (f *Factory) openSilently(ctx context.Context) (openHost, error) {
	if f.homeless != nil {
		return nil, exitf(exitConfiguration, "%v", f.homeless)
	}
	file := f.configFile
	if file == "" {
		file = f.Getenv("COLLET_CONFIG")
	}
	if file == "" {
		return nil, exitf(exitConfiguration, "no configuration named, pass --config FILE or set COLLET_CONFIG")
	}
	said, err := logLevel(f.logLevel)
	if err != nil {
		return nil, err
	}
	var level slog.LevelVar
	level.Set(said)
	opt := host.Options{
		ConfigFiles: []string{file},
		Log:         slog.New(slog.NewTextHandler(f.Streams.Err, &slog.HandlerOptions{Level: &level})),
		Version:     f.Version,
	}
	if f.logLevel == "" {
		opt.LogLevel = &level
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
	return 0, usagef("--log-level %s: it is one of debug, info, warn, error", word)
}
