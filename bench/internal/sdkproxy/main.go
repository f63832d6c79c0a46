// Command sdkproxy passes an MCP server's tools on by the official Go SDK alone,
// its client on the one side and its server on the other: what collet's front is
// measured beside. It does as little as that SDK allows.
//
//	sdkproxy [-http ADDR] COMMAND [ARGUMENT...]
//
// With -http it serves Streamable HTTP and prints its URL as the first line of
// stdout; answers are then JSON, which is quicker than the SDK's event streams.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	address := flag.String("http", "", "the `address` to serve HTTP on, instead of stdio")
	flag.Parse()
	if err := run(context.Background(), *address, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sdkproxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, command []string) error {
	self := &mcp.Implementation{Name: "sdkproxy", Version: "1"}
	upstream, err := mcp.NewClient(self, nil).Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", command[0], err)
	}
	defer upstream.Close()
	server := mcp.NewServer(self, nil)
	for tool, err := range upstream.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", command[0], err)
		}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return upstream.CallTool(ctx, &mcp.CallToolParams{Meta: r.Params.Meta, Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	if address == "" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	return http.Serve(l, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: true}))
}
