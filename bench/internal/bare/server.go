package bare

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
)

// Server is a running MCP server and the least that a client of it can be: one
// line out, one line in, the answer found by its id. Calls may overlap.
type Server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // reading has ended

	write   sync.Mutex // whole lines
	mu      sync.Mutex
	next    int
	pending map[int]chan []byte
}

// StartServer starts the server at path and shakes hands with it.
func StartServer(path string) (*Server, error) { return Start(exec.Command(path)) }

// Start starts a server of the initialize era whose answers begin with jsonrpc and
// id, and shakes hands with it.
func Start(cmd *exec.Cmd) (*Server, error) {
	s := &Server{cmd: cmd, done: make(chan struct{}), pending: map[int]chan []byte{}}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	s.in = in
	go s.read(out) // ends with the process, and Close waits for it
	if _, err := s.request("initialize", []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}`)); err != nil {
		s.Close()
		return nil, fmt.Errorf("initialize %s: %w", cmd.Path, err)
	}
	if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) read(out io.Reader) {
	defer close(s.done)
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		// All that are measured write the id first: {"jsonrpc":"2.0","id":7,...
		digits, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
		if !ok {
			continue // a notification
		}
		id, err := strconv.Atoi(string(digits[:bytes.IndexByte(digits, ',')]))
		if err != nil {
			return
		}
		s.mu.Lock()
		answer := s.pending[id]
		delete(s.pending, id)
		s.mu.Unlock()
		answer <- line
	}
}

func (s *Server) request(method string, params []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	s.mu.Lock()
	s.next++
	id := s.next
	s.pending[id] = answer
	s.mu.Unlock()
	line := fmt.Appendf(make([]byte, 0, 128+len(params)), `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	s.write.Lock()
	_, err := s.in.Write(line)
	s.write.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case line := <-answer:
		return line, nil
	case <-s.done:
		return nil, fmt.Errorf("%s ended", s.cmd.Path)
	}
}

// List returns the line that answers tools/list.
func (s *Server) List() ([]byte, error) { return s.request("tools/list", []byte(`{}`)) }

// Call calls a tool and returns the line of its answer.
func (s *Server) Call(_ context.Context, tool string, arguments []byte) ([]byte, error) {
	return s.request("tools/call", fmt.Appendf(make([]byte, 0, 64+len(arguments)), `{"name":%q,"arguments":%s}`, tool, arguments))
}

// Pid is the server's process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Close ends the server and waits for it.
func (s *Server) Close() error {
	s.in.Close()
	<-s.done
	return s.cmd.Wait()
}
