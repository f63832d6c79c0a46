// Package azmcp serves Microsoft's Azure MCP server, which it starts: a tool for
// each Azure service that lists its commands and runs one. It keeps to the commands
// that are known to only read unless told otherwise, says in few words what the
// definitions say in many, and reads what the server reports in prose.
//
// It installs nothing by itself; where the server is not installed, npx gets it.
package azmcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// Package and version that npx is asked for, and that the lists and texts here are
// of. Another one has to be installed on purpose.
const (
	pinnedVersion = "2.0.5"
	pinned        = "@azure/mcp@" + pinnedVersion
)

// Options say how to start the server and what it may do.
type Options struct {
	// Command is the program and its arguments but for those of the server; empty is
	// azmcp from the PATH or, where there is none, npx with the pinned version.
	Command []string
	// Namespaces are the services to offer, by the names of their tools; empty is all.
	Namespaces []string
	// Writes allows commands that change something.
	Writes bool
	// Credential is one of Credentials, "" the one that the environment suggests.
	Credential string
	// Tenant and Subscription count where a call names none; Cloud is the server's
	// --cloud. "" leaves each to the environment.
	Tenant, Subscription, Cloud string
}

// Server returns what mcpadapter needs to start and serve the server.
func Server(opt Options) mcpadapter.Options {
	return mcpadapter.Options{
		Connect: func(ctx context.Context, env *adapter.Env, o mcp.Options) (mcpadapter.Upstream, error) {
			o.ClientInfo = mcp.ClientInfo{Name: "collet", Version: env.HostVersion}
			o.SkipProbe = true // it does not answer one
			o.Capabilities, o.OnRequest = declared(o.Capabilities), honest(o.OnRequest)
			cmd := opt.command(env.DataDir)
			c, err := mcp.Start(ctx, cmd, o)
			if err != nil {
				return nil, notStarted(cmd, err)
			}
			if v := version(c.Server()); v != pinnedVersion {
				env.Log.Warn("this Azure MCP server is not the one that the adapter knows: what it cannot tell to only read is not offered",
					"version", v, "known", pinnedVersion)
			}
			return careful{c}, nil
		},
		Shape: shape(opt),
	}
}

// declared is what the server is told of what its caller can be asked, of all that the
// host can pass on. Not sampling: the server would have the caller's model pick the
// command, which has been picked. What shows secrets asks for a person's word.
func declared(host json.RawMessage) json.RawMessage {
	elicitation := gjson.GetBytes(host, "elicitation").Raw
	if elicitation == "" {
		return nil
	}
	return json.RawMessage(`{"elicitation":` + elicitation + `}`)
}

// version is the server's, without the commit that follows a plus sign.
func version(info mcp.ServerInfo) string {
	var said struct{ Version string }
	_ = json.Unmarshal(info.Info, &said) // no version is another version
	v, _, _ := strings.Cut(said.Version, "+")
	return v
}

// notStarted says what to do about a server that could not be started.
func notStarted(cmd mcp.Command, err error) error {
	f := *failure.Classify(err)
	if cmd.Path != npx || f.Class != failure.ConnectionRefused {
		return &f
	}
	if _, missing := mcp.LookPath(cmd); missing != nil {
		f.Message = "it is not installed (no azmcp on the PATH), and there is no npx to get it with"
	} else {
		f.Message = "npx could not get " + pinned + reason(f.Message)
	}
	f.Message += `; npm install -g ` + pinned + `, name it in command in the config of this server, or do without it: docs_only = true`
	return &f
}

// reason is npm's word on why, such as ENOTFOUND; the whole of it is in the
// server's log.
func reason(message string) string {
	_, rest, ok := strings.Cut(message, "npm error code ")
	if words := strings.Fields(rest); ok && len(words) > 0 {
		return " (" + words[0] + ")"
	}
	return ""
}

// Unknown returns the first of names that is no service of the pinned server; ""
// when all are. With commands of one's own, nothing is known.
func (o Options) Unknown() string {
	if len(o.Command) > 0 {
		return ""
	}
	i := slices.IndexFunc(o.Namespaces, func(n string) bool { return len(commands(n)) == 0 && !slices.Contains(writers, n) })
	if i < 0 {
		return ""
	}
	return o.Namespaces[i]
}
