// Command echoserver is the MCP server that every figure is measured against. It
// does as little as a server can: one goroutine, one message per line, no SDK.
// Its two tools are echo, which returns its text, and blob, which returns a
// result of a given number of bytes. It never checks what it is sent, and serves
// nobody but the benchmarks.
//
//	echoserver [-http ADDR] [-tools N | -list FILE | -mute]
//
// With -http it serves Streamable HTTP of the initialize era at /mcp, without
// sessions, and prints its URL as the first line of stdout. It lists N tools, or
// answers tools/list with the bytes of FILE, or answers nothing at all.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/collet-dev/collet/bench/internal/load"
)

const ownTools = `{"tools":[` +
	`{"name":"echo","description":"Returns its text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},` +
	`{"name":"blob","description":"Returns a result of that many bytes.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer","minimum":100}},"required":["bytes"]}}]}`

// tools is the result of tools/list.
var tools = []byte(ownTools)

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name            string
		ProtocolVersion string
		Arguments       struct {
			Text  json.RawMessage
			Bytes int
		}
	}
}

func main() {
	address := flag.String("http", "", "the `address` to serve HTTP on, instead of stdio")
	number := flag.Int("tools", 0, "list `N` tools in place of echo and blob")
	list := flag.String("list", "", "the `FILE` with the result of tools/list")
	mute := flag.Bool("mute", false, "read, and answer nothing")
	flag.Parse()
	var err error
	switch {
	case *number > 0:
		tools = load.Tools(*number)
	case *list != "":
		tools, err = os.ReadFile(*list)
	}
	if err == nil && *mute {
		_, err = io.Copy(io.Discard, os.Stdin)
	} else if err == nil && *address != "" {
		err = serveHTTP(*address, os.Stdout)
	} else if err == nil {
		err = serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "echoserver:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var req request
		if err := json.Unmarshal(line, &req); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if req.ID != nil {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, req.ID)
			answer(w, &req)
			w.WriteString("}\n")
		}
		// One write for all requests that came in one read.
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return fmt.Errorf("write an answer: %w", err)
			}
		}
	}
}

// answer writes the member that answers req.
func answer(w *bufio.Writer, req *request) {
	switch req.Method {
	case "initialize":
		fmt.Fprintf(w, `"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`, req.Params.ProtocolVersion)
	case "tools/list":
		w.WriteString(`"result":`)
		w.Write(tools)
	case "tools/call":
		w.WriteString(`"result":`)
		if req.Params.Name == "blob" {
			w.Write(load.Result(req.Params.Arguments.Bytes))
			return
		}
		w.WriteString(`{"content":[{"type":"text","text":`)
		w.Write(req.Params.Arguments.Text)
		w.WriteString(`}]}`)
	default:
		w.WriteString(`"error":{"code":-32601,"message":"Method not found"}`)
	}
}
