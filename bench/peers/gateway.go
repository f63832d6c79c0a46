package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// gateway is a program that serves the tools of other servers as one server. With a
// port it listens there, at path; without one it speaks over stdio.
type gateway struct {
	name, path string
	command    func(p place, all []behind, port string) ([]string, error)
	// after ends what the program has left running.
	after func(p place) []string
}

func (f *field) gateways() []gateway {
	collet := func(p place, all []behind, port string) ([]string, error) {
		file, err := f.toml(p, all)
		command := []string{f.collet, "--config", file, "serve"}
		if port != "" {
			command = append(command, "--http", "127.0.0.1:"+port)
		}
		return command, err
	}
	mcporter := func(p place, all []behind, port string) ([]string, error) {
		file, err := f.json(p, all)
		command := []string{f.program("mcporter"), "--config", file, "serve"}
		if port != "" {
			command = append(command, "--http", port)
		}
		return command, err
	}
	hub := func(p place, all []behind, port string) ([]string, error) {
		file, err := f.json(p, all)
		return []string{f.program("mcp-hub"), "--port", port, "--config", file}, err
	}
	stopDaemon := func(p place) []string {
		return []string{f.program("mcporter"), "--config", filepath.Join(p.home, "mcp.json"), "daemon", "stop"}
	}
	return []gateway{
		{name: "collet, stdio", command: collet},
		{name: "mcporter, stdio", command: mcporter, after: stopDaemon},
		{name: "collet, HTTP", path: "/mcp", command: collet},
		{name: "mcporter, HTTP", path: "/mcp", command: mcporter, after: stopDaemon},
		{name: "mcp-hub, HTTP+SSE", path: "/mcp", command: hub},
	}
}

// serving is a gateway that runs, with one client.
type serving struct {
	place  place
	client *mcp.Client
	cmd    *exec.Cmd // nil over stdio, where the client has started it
	after  []string
	echo   string // what the gateway calls the tool echo of echo0
	blob   string
	first  time.Duration // from its start to a list with the tools of all echo servers
}

// start starts g before all and waits until its list has the tools of the first
// whole of them.
func (f *field) start(ctx context.Context, g gateway, all []behind, whole int) (_ *serving, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &serving{}
	if s.place, err = f.place(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
			err = fmt.Errorf("%s: %w", g.name, err)
		}
	}()
	var port string
	if g.path != "" {
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	command, err := g.command(s.place, all, port)
	if err != nil {
		return nil, err
	}
	if g.after != nil {
		s.after = g.after(s.place)
	}
	begun := time.Now()
	if g.path == "" {
		s.client, err = mcp.Start(ctx, mcp.Command{Path: command[0], Args: command[1:], Env: s.place.env, Dir: s.place.home}, mcp.Options{SkipProbe: true})
	} else {
		err = s.listen(ctx, command, "http://127.0.0.1:"+port+g.path)
	}
	if err != nil {
		return nil, err
	}
	if err := s.complete(ctx, whole); err != nil {
		return nil, err
	}
	s.first = time.Since(begun)
	return s, nil
}

// listen starts a gateway and calls at url until it is there.
func (s *serving) listen(ctx context.Context, command []string, url string) error {
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Env, s.cmd.Dir = s.place.env, s.place.home
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for {
		var err error
		if s.client, err = mcp.Dial(ctx, mcp.Endpoint{URL: url}, mcp.Options{SkipProbe: true}); err == nil {
			return nil
		}
		if over := moment(ctx); over != nil {
			return errors.Join(over, err)
		}
	}
}

// complete asks for the list until the tools of n servers are in it.
func (s *serving) complete(ctx context.Context, n int) error {
	for {
		tools, err := s.client.ListTools(ctx)
		if err != nil {
			return err
		}
		found := 0
		for _, t := range tools {
			name := gjson.GetBytes(t, "name").String()
			if !strings.Contains(name, "echo") {
				continue
			}
			if strings.HasSuffix(name, "blob") {
				found++
			}
			if strings.Contains(name, "echo0") && strings.HasSuffix(name, "blob") {
				s.blob, s.echo = name, strings.TrimSuffix(name, "blob")+"echo"
			}
		}
		if found >= n {
			return nil
		}
		if err := moment(ctx); err != nil {
			return fmt.Errorf("its list has the tools of %d servers, not of %d: %w", found, n, err)
		}
	}
}

// moment passes before something is asked again.
func moment(ctx context.Context) error {
	select {
	case <-time.After(2 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call calls a tool, whose answer has to have that many bytes at least.
func (s *serving) call(ctx context.Context, tool string, arguments []byte, atLeast int) error {
	res, err := s.client.CallTool(ctx, tool, json.RawMessage(arguments), mcp.RequestOptions{})
	if err == nil && (len(res) < atLeast || gjson.GetBytes(res, "isError").Bool()) {
		err = fmt.Errorf("an answer of %d bytes: %.200s", len(res), res)
	}
	return err
}

// close ends the gateway, what it has left running, and what is left of that.
func (s *serving) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.client != nil {
		_ = s.client.Close(ctx)
	}
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		stop := time.AfterFunc(patience/3, func() { _ = s.cmd.Process.Kill() })
		_ = s.cmd.Wait()
		stop.Stop()
	}
	if s.after != nil {
		cmd := exec.CommandContext(ctx, s.after[0], s.after[1:]...)
		cmd.Env = s.place.env
		_ = cmd.Run()
	}
	for _, pid := range s.processes() {
		_ = kill(pid)
	}
}
