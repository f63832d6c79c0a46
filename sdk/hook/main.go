package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/child"
	"github.com/collet-dev/collet/sdk/internal/typed"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// The points at which a hook is asked, as its description names them.
const (
	pointServers = "servers"
	pointTools   = "tools"
	pointBefore  = "before"
	pointAfter   = "after"
)

// Main is the whole main function of a hook: it serves until the host ends it, then
// closes H, where it is an io.Closer, and returns. C is the type of the entry's
// config table, as for adapter.Main; H is the hook's own type, whose methods say at
// which points it is asked. Open makes one from a config; its context lives as long
// as the process.
//
// The process understands `describe` and `-version`. Main redirects os.Stdout, log
// and slog.Default to the plugin's log on stderr.
func Main[C, H any](info Info, open func(context.Context, *Env, C) (H, error)) {
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

// program is one hook: Main's arguments without its type parameters.
type program struct {
	info   Info
	points []string
	schema *jsonschema.Schema // of the config
	open   func(context.Context, *Env, json.RawMessage) (any, error)
}

func newProgram[C, H any](info Info, open func(context.Context, *Env, C) (H, error)) (*program, error) {
	if info.Name == "" {
		return nil, errors.New("hook.Main: Info.Name is empty")
	}
	p := &program{info: info, points: pointsOf[H]()}
	if len(p.points) == 0 {
		return nil, fmt.Errorf("hook %s: %s has none of the methods EditServers, EditTools, Before and After", info.Name, reflect.TypeFor[H]())
	}
	var err error
	if p.schema, err = typed.ConfigSchema(reflect.TypeFor[C]()); err != nil {
		return nil, fmt.Errorf("hook %s: no schema for the config type %s: %w", info.Name, reflect.TypeFor[C](), err)
	}
	p.open = func(ctx context.Context, env *Env, raw json.RawMessage) (any, error) {
		problems := typed.Check(p.schema, raw)
		var cfg C
		if len(problems) == 0 {
			cfg, problems = typed.Decode[C](raw)
		}
		if len(problems) > 0 {
			f := failure.New(failure.InvalidArguments, failure.NotSent, "bad config for hook %s: %s", info.Name, typed.Summarize(problems))
			f.Problems = problems
			return nil, f
		}
		return open(ctx, env, cfg)
	}
	return p, nil
}

// pointsOf says at which points a hook of type H is asked.
func pointsOf[H any]() []string {
	t := reflect.TypeFor[H]()
	var points []string
	for _, p := range []struct {
		name   string
		method reflect.Type
	}{
		{pointServers, reflect.TypeFor[ServersEditor]()}, {pointTools, reflect.TypeFor[ToolsEditor]()},
		{pointBefore, reflect.TypeFor[CallEditor]()}, {pointAfter, reflect.TypeFor[ResultEditor]()},
	} {
		if t.Implements(p.method) {
			points = append(points, p.name)
		}
	}
	return points
}

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
	}
	switch child.Kind {
	case wire.HookCookieValue:
	case "":
		fmt.Fprintf(child.Stderr, byHand, p.info.Name)
		return 1
	default:
		fmt.Fprintf(child.Stderr, "collet-plugin-%s is a hook and offers no tools: name it under [hooks.%[1]s] in mcp.toml, not under [servers]\n", p.info.Name)
		return 1
	}
	logger := child.NewLogger(child.Stderr, p.info.Name)
	slog.SetDefault(logger) // also redirects package log, at info level
	log.SetFlags(0)
	p.serve(out)
	return 0
}

const byHand = `This is collet-plugin-%[1]s, a hook of collet: it is started by a collet host, not by hand.

To use it, name it in mcp.toml:

    [hooks.%[1]s]
    plugin = "%[1]s"

To look at it alone, give it one argument:

    describe    what it is, and the schema of its config, as JSON
    -version    its name and version
`

func (p *program) version() string { return strings.TrimPrefix(p.info.Version, "v") }

func (p *program) printDescription(out *os.File) error {
	schema, err := typed.EncodeSchema(p.schema)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(describe.Description{
		Kind: "hook", Name: p.info.Name, Version: p.version(), Summary: p.info.Summary, Homepage: p.info.Homepage,
		License: p.info.License, ConfigSchema: schema, Features: p.points, Environment: p.info.Environment,
	})
}
