package server

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// Inspection is what can be known of a server without starting it: the steps of
// a start that come before its process, as far as they go.
type Inspection struct {
	PluginFile  string                // "" when it was not found
	Description *describe.Description // nil when the plugin would not say
	Unchecked   string                // why its config schema cannot be used; "" where it can, or there is none
	References  []config.Reference    // what its values take from outside the file
	Exposed     []int                 // of the command's arguments those that hold a secret
	Command     *Command              // nil when it is no command server, its values cannot be resolved, or its PATH is a !command's
	// Step is the first step that fails, and Failure why; StepNone and nil when
	// a start would come to the process.
	Step    Step
	Failure *Failure
}

// Command is what a command server would start, in its complete environment.
type Command struct {
	Path string   // as the client of package mcp takes it: a name, or a path
	Env  []string // sorted
	Dir  string
}

// Step is a step of a start.
type Step string

// The steps that Inspect takes.
const (
	StepNone     Step = ""
	StepPlugin   Step = "plugin"   // its file is found
	StepPin      Step = "pin"      // the file is the one that was pinned
	StepDescribe Step = "describe" // the file says what it is
	StepValues   Step = "values"   // the entry's values are resolved
)

// Inspect looks at what a start would need. It runs the plugin's describe, unless
// that is cached, and no !command: what is behind one is not known here.
func (s *Server) Inspect(ctx context.Context) *Inspection {
	set := s.Settings()
	in := &Inspection{References: set.References(s.env.Resolver)}
	in.Step, in.Failure = s.inspect(ctx, set, in)
	return in
}

func (s *Server) inspect(ctx context.Context, set *config.Server, in *Inspection) (Step, *Failure) {
	path, err := s.pluginFile(ctx, set)
	if err != nil {
		return StepPlugin, AsFailure(err)
	}
	in.PluginFile = path
	exe, fail := s.admit(ctx, set, path)
	if fail != nil {
		return StepPin, fail
	}
	if in.Description, err = s.env.Describer.Describe(ctx, exe.Run, launch.ShortEnv(s.env.Environ)); err != nil {
		f := AsFailure(err)
		if f.Class == failure.InvalidResult {
			f.Class = failure.ConnectionRefused // as launch words it
		}
		return StepDescribe, f
	}
	if raw := in.Description.ConfigSchema; len(raw) > 0 {
		in.Unchecked = s.env.Schemas.Compile(raw).Unchecked()
	}
	r := s.env.Resolver
	r.Command = func(context.Context, string, string) (string, error) { return "", nil }
	res, err := set.Resolve(ctx, r)
	if err != nil {
		return StepValues, misconfigured(err)
	}
	in.Exposed = s.exposed(res)
	if set.Command != "" && !strings.HasPrefix(set.Env["PATH"], "!") {
		env := s.childEnv(set, res.Env)
		in.Command = &Command{Path: res.Command, Dir: res.Cwd}
		for _, k := range slices.Sorted(maps.Keys(env)) {
			in.Command.Env = append(in.Command.Env, k+"="+env[k])
		}
	}
	return StepNone, nil
}

// Printed is how many bytes the process that runs has written to stderr, as far as they
// have been taken; 0 when none runs.
func (s *Server) Printed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil || s.run.log == nil {
		return 0
	}
	return s.run.log.taken.Load()
}

// Upstream is what a running server's upstream said of itself.
type Upstream struct {
	Name, Version string
	// ProtocolVersion is the MCP revision spoken with it; "" when its adapter
	// speaks no MCP.
	ProtocolVersion string
	ListChanged     bool // it announces changes of its list of tools
}

// Upstream is the zero value when the server does not run, or its upstream has
// not introduced itself.
func (s *Server) Upstream() Upstream {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		return Upstream{}
	}
	r.mu.Lock()
	info := gjson.ParseBytes(r.info)
	r.mu.Unlock()
	impl := info.Get("serverInfo")
	if !impl.Exists() {
		impl = info
	}
	return Upstream{
		Name: impl.Get("name").String(), Version: impl.Get("version").String(),
		ProtocolVersion: info.Get("protocolVersion").String(),
		ListChanged:     info.Get("capabilities.tools.listChanged").Type == gjson.True,
	}
}
