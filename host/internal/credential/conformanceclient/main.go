// Conformanceclient is what the official MCP conformance suite puts through its
// client scenarios: the smallest program on top of sdk/mcp and the host's
// credentials that does what each of them expects a client to do.
//
//	conformanceclient URL
//
// The suite names the scenario in MCP_CONFORMANCE_SCENARIO and gives some of them
// a JSON object in MCP_CONFORMANCE_CONTEXT. The program decides nothing about
// versions: like collet it finds out what the server speaks. It is a test fixture
// and judges no answer: what went over the wire is the suite's to judge.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/collet-dev/collet/sdk/mcp"
)

const (
	// patience is less than the 30 s the suite gives a client, so that what failed is
	// said before the suite ends it.
	patience = 25 * time.Second
	// probeTimeout is long: the suite serves dozens of clients at once out of one
	// process, and what is tried after a slow answer it counts as a fault.
	probeTimeout = 15 * time.Second
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conformanceclient URL; the conformance suite sets MCP_CONFORMANCE_SCENARIO")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if err := run(ctx, os.Args[1], scenario, []byte(os.Getenv("MCP_CONFORMANCE_CONTEXT"))); err != nil {
		fmt.Fprintf(os.Stderr, "conformanceclient: %s: %v\n", scenario, err)
		os.Exit(1)
	}
}

// run connects and plays the client's part of a scenario.
func run(ctx context.Context, url, scenario string, given []byte) error {
	play, known := plays[scenario]
	at := mcp.Endpoint{URL: url}
	if strings.HasPrefix(scenario, "auth/") {
		play, known = callTestTool, true
		keys, err := newKeys(url, scenario, given)
		if err != nil {
			return err
		}
		defer keys.close()
		at.Authorize, at.Reauthorize = keys.authorize, keys.reauthorize
	}
	if !known {
		return fmt.Errorf("this client has no part in the scenario; add one to plays")
	}
	client, err := mcp.Dial(ctx, at, mcp.Options{
		ClientInfo:   mcp.ClientInfo{Name: "collet-conformance", Version: "1.0.0"},
		ProbeTimeout: probeTimeout,
		Capabilities: json.RawMessage(`{"elicitation":{}}`),
		OnRequest:    answer,
	})
	if err != nil {
		return err
	}
	err = play(ctx, &session{client}, given)
	if closing := client.Close(ctx); err == nil {
		err = closing
	}
	return err
}
