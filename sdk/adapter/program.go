package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/typed"
)

// features are the optional parts of the contract this package speaks. They say
// what the binary understands, not what the server behind it makes use of: that
// follows from the snapshot (forward), the answer to a second Configure
// (reconfigure), and the events of a call (input-required).
var features = []string{"ask", "calls", "forward", "input-required", "paged-tools", "reconfigure"}

// sdkPath is the module whose version is the SDK's version.
const sdkPath = "github.com/collet-dev/collet/sdk"

// program is one plugin: Main's arguments without its type parameter.
type program struct {
	info   Info
	schema *jsonschema.Schema // of the config; nil when only a host can read it
	open   func(ctx context.Context, env *Env, config json.RawMessage) (Server, error)
}

// newProgram derives the config schema from C. The error concerns the author.
func newProgram[C any](info Info, open func(context.Context, *Env, C) (Server, error)) (*program, error) {
	if info.Name == "" {
		return nil, fmt.Errorf("adapter.Main: Info.Name is empty")
	}
	p := &program{info: info}
	var err error
	if len(info.ConfigSchema) == 0 {
		if p.schema, err = typed.ConfigSchema(reflect.TypeFor[C]()); err != nil {
			return nil, fmt.Errorf("adapter %s: no schema for the config type %s: %w", info.Name, reflect.TypeFor[C](), err)
		}
	} else if p.schema, err = typed.ReadSchema(info.ConfigSchema); err != nil {
		return nil, fmt.Errorf("adapter %s: Info.ConfigSchema: %w", info.Name, err)
	}
	p.open = func(ctx context.Context, env *Env, raw json.RawMessage) (Server, error) {
		cfg, problems := typed.Decode[C](raw)
		if len(problems) > 0 {
			return nil, p.badConfig(problems)
		}
		return open(ctx, env, cfg)
	}
	return p, nil
}

// check validates a config against its schema; nil means it is valid.
func (p *program) check(raw json.RawMessage) error {
	if problems := typed.Check(p.schema, raw); len(problems) > 0 {
		return p.badConfig(problems)
	}
	return nil
}

func (p *program) badConfig(problems []failure.Problem) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "bad config for plugin %s: %s", p.info.Name, typed.Summarize(problems))
	f.Origin, f.Problems = failure.OriginHost, problems
	return f
}

// describe makes the description. A plugin that serves is rarely asked for it,
// and writing the schema down would take longer than all else that it does first.
func (p *program) describe() (*describe.Description, error) {
	d := &describe.Description{
		Name:                p.info.Name,
		Version:             p.version(),
		SDKVersion:          sdkVersion(),
		Summary:             p.info.Summary,
		Homepage:            p.info.Homepage,
		License:             p.info.License,
		ConfigSchema:        p.info.ConfigSchema,
		Features:            features,
		Environment:         p.info.Environment,
		MCPVersions:         p.info.MCPVersions,
		DefaultTimeout:      max(p.info.DefaultTimeout, 0),
		DefaultStartTimeout: max(p.info.DefaultStartTimeout, 0),
	}
	if len(d.ConfigSchema) == 0 {
		var err error
		if d.ConfigSchema, err = typed.EncodeSchema(p.schema); err != nil {
			return nil, fmt.Errorf("adapter %s: encode the schema of its config: %w", d.Name, err)
		}
	}
	return d, nil
}

func (p *program) version() string { return strings.TrimPrefix(p.info.Version, "v") }

// response is the description as the Describe RPC gives it.
func (p *program) response() (*adapterpb.DescribeResponse, error) {
	d, err := p.describe()
	if err != nil {
		return nil, err
	}
	resp := &adapterpb.DescribeResponse{
		Name: d.Name, Version: d.Version, SdkVersion: d.SDKVersion,
		Summary: d.Summary, Homepage: d.Homepage, License: d.License,
		ConfigSchema: d.ConfigSchema, Features: d.Features, ForwardMethods: d.ForwardMethods,
		Environment: d.Environment, McpVersions: d.MCPVersions,
	}
	if d.DefaultTimeout > 0 {
		resp.DefaultTimeout = durationpb.New(d.DefaultTimeout)
	}
	if d.DefaultStartTimeout > 0 {
		resp.DefaultStartTimeout = durationpb.New(d.DefaultStartTimeout)
	}
	return resp, nil
}

func sdkVersion() string {
	const unknown = "devel"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	version := ""
	if info.Main.Path == sdkPath {
		version = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == sdkPath && m.Replace == nil {
			version = m.Version
		}
	}
	if version == "" || version == "(devel)" || version == "v0.0.0" {
		return unknown
	}
	return strings.TrimPrefix(version, "v")
}
