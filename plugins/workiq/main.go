// Command collet-plugin-workiq is the adapter for Microsoft's Work IQ, which answers
// questions out of the mail, chats, meetings and documents of one's organisation. It
// starts Work IQ's own MCP server, but not before a person has accepted its licence;
// offers what reads, each tool with consent; and says truthfully what became of a
// question.
package main

import (
	"context"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/mcp"
)

func main() {
	adapter.Main(adapter.Info{
		Name: "workiq", Version: "0.1.0", License: "Apache-2.0", Homepage: "https://github.com/microsoft/work-iq",
		Summary: "Work IQ: questions to the mail, chats, meetings and documents of one's organisation.",
		// To sign in, the server opens a window.
		Environment: []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "BROWSER"},
		MCPVersions: mcp.Versions(),
		// The vendor's own limit of an answer; and npx may have to fetch the server first.
		DefaultTimeout: 5 * time.Minute, DefaultStartTimeout: 3 * time.Minute,
	}, open)
}

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newServer(env, cfg), nil
}
