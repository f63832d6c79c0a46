package bare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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
	URL string
	// Modern makes calls of 2026-07-28, which need no handshake.
	Modern bool

	cmd     *exec.Cmd
	said    chan struct{} // its output has ended
	client  *http.Client
	session []string // Mcp-Session-Id, nil where the server gave none
	next    atomic.Int64
}

// StartHTTPServer starts the server at path on a free port of this machine.
func StartHTTPServer(path string) (*HTTPServer, error) {
	return StartHTTP(exec.Command(path, "-http", "127.0.0.1:0"))
}

// StartHTTP starts a server that says its URL on stdout or stderr.
func StartHTTP(cmd *exec.Cmd) (*HTTPServer, error) {
	s := &HTTPServer{cmd: cmd, said: make(chan struct{}), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	url, output := make(chan string, 1), ""
	go func() { // ends with the process, and Close waits for it
		defer close(s.said)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			output += lines.Text() + "\n"
			if at := strings.Index(lines.Text(), "http://"); at >= 0 {
				url <- strings.TrimSpace(lines.Text()[at:])
				break
			}
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	ended := make(chan struct{})
	go func() { // likewise
		defer close(ended)
		_ = cmd.Wait() // killed, as it says
		_ = w.Close()
	}()
	select {
	case s.URL = <-url:
		return s, nil
	case <-ended:
		<-s.said
		return nil, fmt.Errorf("%s said no URL:\n%s", cmd.Path, output)
	}
}

// Another is a client more of the same server, with connections of its own.
func (s *HTTPServer) Another() *HTTPServer {
	return &HTTPServer{URL: s.URL, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}}
}

// Open makes the handshake of the initialize era. A server that keeps no sessions
// does without.
func (s *HTTPServer) Open(ctx context.Context) error {
	_, h, err := s.post(ctx, "initialize", "", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}`)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	s.session = h["Mcp-Session-Id"]
	_, _, err = s.post(ctx, "", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}

// List returns the body of the answer to tools/list.
func (s *HTTPServer) List(ctx context.Context) ([]byte, error) {
	params := "{}"
	if s.Modern {
		params = `{` + modernMeta + `}`
	}
	b, _, err := s.post(ctx, "tools/list", "", params)
	return b, err
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// Call calls a tool and returns the body of its answer.
func (s *HTTPServer) Call(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
	if s.Modern {
		params = fmt.Sprintf(`{"name":%q,"arguments":%s,`+modernMeta+`}`, tool, arguments)
	}
	b, _, err := s.post(ctx, "tools/call", tool, params)
	return b, err
}

// post makes a request, or sends params as a message of its own when there is no
// method.
func (s *HTTPServer) post(ctx context.Context, method, name, params string) ([]byte, http.Header, error) {
	body := []byte(params)
	if method != "" {
		body = fmt.Appendf(make([]byte, 0, 128+len(params)), `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.next.Add(1), method, params)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json, text/event-stream"}
	switch {
	case s.Modern:
		req.Header["Mcp-Protocol-Version"] = []string{"2026-07-28"}
		req.Header["Mcp-Method"] = []string{method}
		if name != "" {
			req.Header["Mcp-Name"] = []string{name}
		}
	case s.session != nil:
		req.Header["Mcp-Protocol-Version"] = []string{"2025-11-25"}
		req.Header["Mcp-Session-Id"] = s.session
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = errors.New(res.Status + ": " + string(b))
	}
	return b, res.Header, err
}

// Pid is the server's process.
func (s *HTTPServer) Pid() int { return s.cmd.Process.Pid }

// Close ends the server and waits for it.
func (s *HTTPServer) Close() {
	s.client.CloseIdleConnections()
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.said
	}
}
