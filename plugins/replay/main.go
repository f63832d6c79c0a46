// Command collet-plugin-replay plays a recording in the place of a server: the tools
// it listed, and what its calls were answered with, progress, log records and failures
// included. It reaches nothing but the file.
package main

import (
	"context"
	"slices"
	"strings"

	"github.com/collet-dev/collet/plugins/replay/internal/player"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/recording"
)

type config struct {
	File   string `json:"file" jsonschema:"the recording, as collet record writes it; relative to the working directory"`
	Server string `json:"server,omitempty" jsonschema:"which of its servers is played; needed when there are several"`
	Match  string `json:"match,omitempty" jsonschema:"arguments: a call is answered with what was recorded for the same arguments, the last answer again and again; order: calls come as they were recorded, once each; arguments when left out"`
}

func main() {
	adapter.Main(adapter.Info{
		Name: "replay", Version: "0.1.0", License: "Apache-2.0",
		Summary: "Plays a recording in the place of a server.",
	}, open)
}

func open(_ context.Context, _ *adapter.Env, cfg config) (adapter.Server, error) {
	if cfg.Match != "" && cfg.Match != "arguments" && cfg.Match != "order" {
		return nil, invalid("/match", "enum", "match must be arguments or order")
	}
	rec, err := recording.ReadFile(cfg.File)
	if err != nil {
		return nil, invalid("/file", "format", "read the recording: "+err.Error())
	}
	servers := rec.Servers()
	switch {
	case cfg.Server == "" && len(servers) == 1:
		cfg.Server = servers[0]
	case cfg.Server == "":
		return nil, invalid("/server", "required", "the recording has several servers, or none: say which is played: "+strings.Join(servers, ", "))
	case !slices.Contains(servers, cfg.Server):
		return nil, invalid("/server", "enum", "the recording has no server "+cfg.Server+"; it has: "+strings.Join(servers, ", "))
	}
	return player.New(rec, cfg.Server, cfg.Match == "order"), nil
}

func invalid(path, rule, message string) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", message)
	f.Problems = []failure.Problem{{Path: path, Rule: rule, Message: message}}
	return f
}
