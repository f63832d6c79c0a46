package bare

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
)

// HTTPServer is a running MCP server over Streamable HTTP and the least that a
// client of it can be: one POST out, one JSON body back.
type HTTPServer struct {
	URL  string
	cmd  *exec.Cmd
	next atomic.Int64
}

// StartHTTPServer starts the server at path on a free port of this machine.
func StartHTTPServer(path string) (*HTTPServer, error) {
	s := &HTTPServer{cmd: exec.Command(path, "-http", "127.0.0.1:0")}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the echo server: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("the echo server said no URL: %w", err)
	}
	s.URL = strings.TrimSpace(line)
	return s, nil
}

// Call calls a tool and returns the body of its answer.
func (s *HTTPServer) Call(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
	body := fmt.Appendf(make([]byte, 0, 128+len(arguments)), `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.next.Add(1), tool, arguments)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// Close ends the server and waits for it.
func (s *HTTPServer) Close() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // killed, as it says
}
