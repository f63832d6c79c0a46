package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/collet-dev/collet/sdk/internal/child"
	"github.com/collet-dev/collet/sdk/internal/wire"
	"io"
	"log"
	"log/slog"
	"os"
)

// Main is the whole main function of a plugin: it serves until the host ends it,
// then closes the server and returns. C is the type of the server's config
// table: its JSON Schema becomes part of the plugin's description, and what does
// not fit is refused before open sees it. A string field with the tag
// `collet:"secret"` is never shown; `collet:"public"` says of one that is called like a
// secret that it is none. Use struct{} for no config.
//
// Open makes the Server from a config. It should return quickly: a slow
// connection belongs into a Watcher. Its context lives as long as the process,
// so that what is started with it may outlive the call; it also ends when the
// host gives up waiting. An error that is a *failure.Failure is reported as such,
// any other is classified.
//
// The process understands `describe` (prints the description as JSON),
// `-version` and `-debug` (serves, and prints what to set so that a host uses this
// very process instead of starting its own). Started by hand without any of
// these it says what it is and exits with status 1. Flags do not exist besides:
// the config is the way to settings.
//
// Main redirects os.Stdout, log and slog.Default to the plugin's log on stderr,
// and os.Stdin, which the host keeps open as a sign of life, to nothing.
func Main[C any](info Info, open func(context.Context, *Env, C) (Server, error)) {
	out := child.Stdout
	os.Stdout = child.Stderr
	p, err := newProgram(info, open)
	if err != nil {
		fmt.Fprintln(child.Stderr, err)
		os.Exit(1)
	}
	if code := p.run(os.Args[1:], out); code != 0 {
		os.Exit(code)
	}
}

// run carries out one mode and returns the exit status.
func (p *program) run(args []string, out *os.File) int {
	mode := ""
	if len(args) > 0 {
		mode = args[0]
	}
	switch mode {
	case "describe":
		if err := p.printDescription(out); err != nil {
			fmt.Fprintf(child.Stderr, "collet-plugin-%s: describe: %v\n", p.info.Name, err)
			return 1
		}
		return 0
	case "-version", "--version":
		fmt.Fprintf(out, "%s %s\n", p.info.Name, p.version())
		return 0
	case "-debug", "--debug":
		p.redirectLogs()
		return p.debug()
	}
	if child.Kind == wire.HookCookieValue {
		fmt.Fprintf(child.Stderr, "collet-plugin-%s offers tools and is no hook: name it under [servers.%[1]s] in mcp.toml, not under [hooks]\n", p.info.Name)
		return 1
	}
	if child.Kind != wire.CookieValue {
		fmt.Fprintf(child.Stderr, byHand, p.info.Name)
		return 1
	}
	p.redirectLogs()
	p.serve(out)
	return 0
}

const byHand = `This is collet-plugin-%[1]s, a plugin of collet: it is started by a collet host, not by hand.

To use it, name it in mcp.toml and let collet call it:

    [servers.%[1]s]
    plugin = "%[1]s"

    collet tools list

To look at it alone, give it one argument:

    describe    what it is, and the schema of its config, as JSON
    -version    its name and version
    -debug      serve under a debugger, and print how a host finds it
`

func (p *program) printDescription(out io.Writer) error {
	d, err := p.describe()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// redirectLogs makes everything that logs write the plugin's log.
func (p *program) redirectLogs() {
	logger := child.NewLogger(child.Stderr, p.info.Name)
	slog.SetDefault(logger) // also redirects package log, at info level
	log.SetFlags(0)
}
