//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// run runs a command to its end.
func (s *shared) run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
	defer cancel()
	cmd := s.command(ctx, args...)
	var out, err bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &err
	if failed := cmd.Run(); failed != nil && !errors.As(failed, new(*exec.ExitError)) {
		t.Fatal(failed)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s hangs: %s%s", args, &out, &err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

// hosting starts a host and returns its process and its socket.
func (s *shared) hosting(t *testing.T) (pid int, socket string) {
	t.Helper()
	if code, _, stderr := s.run(t, "", "daemon", "start"); code != 0 {
		t.Fatal(stderr)
	}
	_, status, _ := s.run(t, "", "daemon", "status", "--json")
	sockets, err := filepath.Glob(filepath.Join(s.sockets, "collet", "control", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatal(sockets, err)
	}
	return int(gjson.Get(status, "pid").Int()), sockets[0]
}

// standIn listens at a socket in the place of a host, and treats each who comes alike.
func standIn(t *testing.T, socket string, treat func(net.Conn)) {
	t.Helper()
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var held []net.Conn
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
			treat(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
		for _, conn := range held {
			conn.Close()
		}
	})
}

// Whatever is at the socket, and whether it answers or not: commands that can do without
// a host do, and the others say what is there. The frames here are those of an answer
// (op 4), which is the same in all builds.
func TestStalls(t *testing.T) {
	says := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = conn.Write([]byte(text)) }
	}
	kinds := map[string]struct {
		silent bool // to be told from nobody
		make   func(t *testing.T, pid int, socket string)
	}{
		"dead": {false, func(t *testing.T, _ int, socket string) {
			if _, err := os.Stat(socket); err != nil { // it is left
				t.Fatal(err)
			}
		}},
		"silent":      {true, func(t *testing.T, _ int, socket string) { standIn(t, socket, func(net.Conn) {}) }},
		"no frame":    {false, func(t *testing.T, _ int, socket string) { standIn(t, socket, says("HTTP/1.1 400 Bad Request\r\n\r\n")) }},
		"no answer":   {true, func(t *testing.T, _ int, socket string) { standIn(t, socket, says(strings.Repeat("\x00", 1400))) }},
		"half a head": {true, func(t *testing.T, _ int, socket string) { standIn(t, socket, says("\x04\x00\x00\x00")) }},
		"half a message": {true, func(t *testing.T, _ int, socket string) {
			standIn(t, socket, says("\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00half"))
		}},
		"a wrong answer": {false, func(t *testing.T, _ int, socket string) {
			standIn(t, socket, says("\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x04half"))
		}},
		"goes away": {false, func(t *testing.T, _ int, socket string) { standIn(t, socket, func(conn net.Conn) { conn.Close() }) }},
		"stopped":   {true, nil},
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	for kind, c := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			s := newShared(t, "[host]\nplugin_dirs = [\"${BIN}\"]\n[servers.n]\nplugin = \"fault\"\nexposure = \"direct\"\n")
			pid, socket := s.hosting(t)
			if c.make == nil {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			} else {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(awaitLimit); alive(pid); time.Sleep(time.Millisecond) { // it keeps its lock until then
					if time.Now().After(end) {
						t.Fatalf("the host, pid %d, outlives its kill", pid)
					}
				}
				c.make(t, pid, socket)
			}
			for _, run := range []struct {
				args, want string
			}{
				{"tools call n/echo text=x", "x"}, {"tools list", "n/echo"}, {"servers list", "n "}, {"__complete tools call n/ec", "n/echo"},
			} {
				code, stdout, stderr := s.run(t, "", strings.Fields(run.args)...)
				if code != 0 || !strings.Contains(stdout, run.want) || run.args[:5] != "__com" && strings.Contains(stderr, "host") {
					t.Errorf("%s: exit code %d\n%s%s", run.args, code, stdout, stderr)
				}
			}
			says := "no host is running"
			if c.silent {
				says = "does not answer"
			}
			for _, args := range []string{"daemon status", "daemon stop", "servers restart n", "servers --watch"} {
				want := 4
				if args == "daemon stop" && !c.silent {
					want = 0
				}
				if code, stdout, stderr := s.run(t, "", strings.Fields(args)...); code != want || stdout != "" || !strings.Contains(stderr, says) {
					t.Errorf("%s: exit code %d\n%s%s", args, code, stdout, stderr)
				}
			}
			if code, stdout, stderr := s.run(t, hello, "serve"); code != 0 || !strings.Contains(stdout, `"serverInfo"`) {
				t.Errorf("serve: exit code %d\n%s%s", code, stdout, stderr)
			}
			if c.silent {
				return
			}
			// What is no host is replaced by one.
			if code, _, stderr := s.run(t, "", "daemon", "start"); code != 0 {
				t.Errorf("start: exit code %d: %s", code, stderr)
			}
			if code, _, stderr := s.run(t, "", "daemon", "stop"); code != 0 || !strings.Contains(stderr, "has ended") {
				t.Errorf("stop: exit code %d: %s", code, stderr)
			}
		})
	}
}
