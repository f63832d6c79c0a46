// Command scriptserver is the MCP server that scripts are measured with. Its tools
// are echo, which returns its text; wait, which answers after so many milliseconds,
// however many wait at once; and rows, which returns an array of objects of about
// so many bytes. It never checks what it is sent, and serves nobody but the
// benchmarks.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const tools = `{"tools":[` +
	`{"name":"echo","description":"Returns its text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},` +
	`{"name":"wait","description":"Answers after that many milliseconds.","inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}},` +
	`{"name":"rows","description":"Returns about that many bytes of rows.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}]}`

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name            string
		ProtocolVersion string
		Arguments       struct {
			Text      json.RawMessage
			Ms, Bytes int
		}
	}
}

func main() {
	s := &server{out: os.Stdout}
	if err := s.serve(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "scriptserver:", err)
		os.Exit(1)
	}
}

type server struct {
	mu  sync.Mutex // of out
	out io.Writer
}

func (s *server) serve(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var req request
		if err == nil {
			err = json.Unmarshal(line, &req)
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		switch {
		case req.ID == nil:
		case req.Params.Name == "wait":
			time.AfterFunc(time.Duration(req.Params.Arguments.Ms)*time.Millisecond, func() { s.answer(&req) })
		default:
			s.answer(&req)
		}
	}
}

func (s *server) answer(req *request) {
	line := append(result(req, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,`, req.ID)), "}\n"...)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(line) // whoever asked may have left
}

// result appends the member that answers req.
func result(req *request, b []byte) []byte {
	a := &req.Params.Arguments
	switch req.Method {
	case "initialize":
		return fmt.Appendf(b, `"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"scripts","version":"1"}}`, req.Params.ProtocolVersion)
	case "tools/list":
		return append(append(b, `"result":`...), tools...)
	case "tools/call":
		switch req.Params.Name {
		case "echo":
			return fmt.Appendf(b, `"result":{"content":[{"type":"text","text":%s}]}`, a.Text)
		case "rows":
			return append(rows(append(b, `"result":{"content":[],"structuredContent":{"rows":`...), a.Bytes), "}}"...)
		}
		return append(b, `"result":{"content":[{"type":"text","text":"done"}]}`...)
	}
	return append(b, `"error":{"code":-32601,"message":"Method not found"}`...)
}

// rows appends an array of rows as a list of issues has them.
func rows(b []byte, size int) []byte {
	end := len(b) + size
	b = append(b, '[')
	for i := 0; len(b) < end; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%d,"title":"Issue number %d","state":"%s","comments":%d,"labels":["bug","help wanted"],"author":{"login":"someone%d","admin":false},`+
			`"body":"It does not work when the \"path\" is empty.\nSteps:\n1. start it\n2. wait","score":%d.25}`, i, i, [2]string{"open", "closed"}[i%2], i%40, i%97, i%100)
	}
	return append(b, ']')
}
