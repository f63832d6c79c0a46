package main

import (
	"os"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

type config struct {
	AcceptEULA bool     `json:"accept_eula,omitempty" jsonschema:"true says that you, a person who may, accept the licence of Work IQ (https://github.com/microsoft/work-iq); without it nothing is downloaded or started, unless command names a program"`
	Command    []string `json:"command,omitempty" jsonschema:"Work IQ's program and its arguments; when left out workiq mcp if the PATH has it, else npx with the pinned package"`
}

const (
	// pinned is the package that npx is asked for. Another one has to be installed on
	// purpose: its texts are read here, and change.
	pinned = "@microsoft/workiq@1.0.0"
	// licence is where the licence is, and how the server wants it named.
	licence = "https://github.com/microsoft/work-iq"
)

// check refuses to start what nobody has agreed to: to use Work IQ is to accept its
// licence, which is for a person to do. One who names a program has installed it.
func (c config) check() error {
	switch {
	case len(c.Command) > 0 && c.Command[0] == "":
		f := failure.New(failure.InvalidArguments, failure.NotSent, "command names no program")
		f.Problems = []failure.Problem{{Path: "/command/0", Rule: "minLength", Message: f.Message}}
		return f
	case !c.AcceptEULA && len(c.Command) == 0:
		return failure.New(failure.ConsentRequired, failure.NotSent,
			"Work IQ is not started before a person has accepted its licence: read %s, then set config = { accept_eula = true } for this server", licence)
	}
	return nil
}

// process is what to start. It sees what this process sees, less what is between
// collet and its plugins.
func (c config) process(environ []string) mcp.Command {
	var cmd mcp.Command
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "COLLET_") && !strings.HasPrefix(entry, "PLUGIN_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	if len(c.Command) > 0 {
		cmd.Path, cmd.Args = c.Command[0], c.Command[1:]
		return cmd
	}
	cmd.Path, cmd.Args = "workiq", []string{"mcp"}
	if _, err := mcp.LookPath(cmd); err != nil {
		cmd.Path, cmd.Args = "npx", []string{"-y", pinned, "mcp"}
	}
	return cmd
}

// spelled is how a person starts one of Work IQ's own commands in a terminal.
func (c config) spelled(command string) string {
	words := []string{"workiq"}
	if len(c.Command) > 0 {
		words = strings.Split(strings.TrimSuffix(strings.Join(c.Command, " "), " mcp"), " ")
	} else if cmd := c.process(os.Environ()); cmd.Path == "npx" {
		words = []string{"npx", "-y", pinned}
	}
	return strings.Join(append(words, command), " ")
}
