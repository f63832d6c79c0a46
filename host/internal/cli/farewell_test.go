//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}`

// farewell is a user with one misbehaving server, whose log is in.log.
func newFarewell(t *testing.T) *shared {
	t.Helper()
	return newShared(t, "[servers.n]\ncommand = \"${BIN}/faultserver\"\nargs = [\"-log\", \"in.log\"]\nexposure = \"direct\"\n")
}

// greeted is a client of MCP that has seen its server work.
func (s *shared) greeted(t *testing.T) *member {
	t.Helper()
	m := s.join(t)
	m.say(hello)
	m.say(`{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"n__echo","arguments":{"text":"x"}}}`)
	if a, err := m.answer(`"e"`); err != nil || a.Get("result.content.0.text").Str != "x" {
		t.Fatal(err, a.Raw)
	}
	return m
}

// heard waits until the server has been told something n times.
func (s *shared) heard(t *testing.T, what string, n int) {
	t.Helper()
	s.until(t, "the server hears "+what, func() bool {
		log, _ := os.ReadFile(filepath.Join(s.home, "in.log"))
		return bytes.Count(log, []byte(what)) >= n
	})
}

func (s *shared) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(awaitLimit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it does not come to that: %s", what)
		}
	}
}

// status is what 'daemon status' says.
func (s *shared) status(t *testing.T) gjson.Result {
	t.Helper()
	_, out, _ := s.run(t, "", "daemon", "status", "--json")
	return gjson.Parse(out)
}

const slowCall = `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"n__t_progress","arguments":{"ms":1500,"step":100},"_meta":{"progressToken":"p"}}}`

// A host that is told to end gives up its place, lets clients go on that wait for
// nothing, and answers what others have asked before it ends.
func TestHostIsTerminated(t *testing.T) {
	for _, kind := range []string{"daemon", "serve", "serve without client", "stop"} {
		t.Run(kind, func(t *testing.T) {
			s := newFarewell(t)
			var host *os.Process
			if strings.HasPrefix(kind, "serve") {
				owner := s.greeted(t)
				host = owner.cmd.Process
				if kind != "serve" {
					defer owner.in.Close()
				}
			} else {
				pid, _ := s.hosting(t)
				host, _ = os.FindProcess(pid)
			}
			idle, busy := s.greeted(t), s.greeted(t)
			if kind == "serve without client" {
				_ = s.joined[0].in.Close()
			}
			busy.say(slowCall)
			command := s.command(t.Context(), "tools", "call", "n/t_progress", "ms:=1500", "step:=100")
			var out bytes.Buffer
			command.Stdout, command.Stderr = &out, &out
			asked := 2
			if kind == "serve without client" {
				asked = 1 // it has given up its place already
			} else if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			s.heard(t, `"name":"t_progress"`, asked)
			if kind == "stop" {
				if code, _, stderr := s.run(t, "", "daemon", "stop"); code != 0 {
					t.Error(code, stderr)
				}
			} else if err := host.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if a, err := busy.answer(`"slow"`); err != nil || a.Get("result.content.0.text").Str == "" || a.Get("result.isError").Bool() {
				t.Errorf("the call of a client of MCP: %v %s", err, a.Raw)
			}
			if asked == 2 {
				if err := command.Wait(); err != nil {
					t.Errorf("the call of a command: %v %s", err, &out)
				}
			}
			s.until(t, "another is the host", func() bool {
				pid := s.status(t).Get("pid").Int()
				return pid == int64(idle.cmd.Process.Pid) || pid == int64(busy.cmd.Process.Pid)
			})
			for _, m := range []*member{idle, busy} {
				m.say(`{"jsonrpc":"2.0","id":"again","method":"tools/call","params":{"name":"n__echo","arguments":{"text":"y"}}}`)
				if a, err := m.answer(`"again"`); err != nil || a.Get("result.content.0.text").Str != "y" {
					t.Errorf("afterwards: %v %s", err, a.Raw)
				}
			}
			if code, _, stderr := s.run(t, "", "daemon", "start"); code != 0 || !strings.Contains(stderr, "a 'collet serve' (pid ") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
			if code, _, stderr := s.run(t, "", "daemon", "stop"); code != 4 || !strings.Contains(stderr, "it is a 'collet serve', which ends when its MCP client closes it") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

// A client of MCP that waits for nothing does not hold up the end of its host.
func TestStopWithIdleClient(t *testing.T) {
	s := newFarewell(t)
	s.hosting(t)
	s.greeted(t)
	took := time.Duration(0)
	begun := time.Now()
	if code, _, stderr := s.run(t, "", "daemon", "stop"); code != 0 {
		t.Error(code, stderr)
	}
	if took = time.Since(begun); took > 5*time.Second { // half of what calls in flight get
		t.Errorf("it takes %s", took)
	}
}

// A second signal is not waited for by anybody.
func TestHostIsTerminatedTwice(t *testing.T) {
	s := newFarewell(t)
	pid, socket := s.hosting(t)
	m := s.greeted(t)
	m.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n__t_hang","arguments":{}}}`)
	s.heard(t, `"name":"t_hang"`, 1)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(t, "it has given up its place", func() bool {
		_, err := os.Stat(socket)
		return err != nil || s.status(t).Get("pid").Int() != int64(pid)
	})
	begun := time.Now()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(t, "it has ended", func() bool { return !alive(pid) })
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it takes %s", took)
	}
}

// The server hears at once that a client of another process has died, whose host ends
// when nothing else is left.
func TestRelayedClientDies(t *testing.T) {
	s := newFarewell(t)
	owner := s.greeted(t)
	relayed := s.greeted(t)
	relayed.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n__t_hang","arguments":{}}}`)
	s.heard(t, `"name":"t_hang"`, 1)
	_ = owner.in.Close()
	begun := time.Now()
	if err := relayed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.heard(t, "notifications/cancelled", 1)
	if err := owner.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 15*time.Second { // half of what is left to one that only says no more
		t.Errorf("it takes %s", took)
	}
}

// What a host asked and took back keeps no client from going on with another one.
func TestQuestionTakenBack(t *testing.T) {
	s := newFarewell(t)
	owner := s.greeted(t)
	m := s.greeted(t)
	m.say(`{"jsonrpc":"2.0","id":"ask","method":"tools/call","params":{"name":"n__a_elicit","arguments":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}`)
	stop := time.AfterFunc(awaitLimit, func() { _ = m.cmd.Process.Kill() })
	defer stop.Stop()
	question := ""
	for question == "" {
		line, err := m.said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if gjson.Get(line, "method").Str == "elicitation/create" {
			question = gjson.Get(line, "id").Raw
		}
	}
	m.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`)
	for {
		line, err := m.said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if gjson.Get(line, "method").Str == "notifications/cancelled" && gjson.Get(line, "params.requestId").Raw == question {
			break
		}
	}
	if err := owner.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	m.say(`{"jsonrpc":"2.0","id":"again","method":"tools/call","params":{"name":"n__echo","arguments":{"text":"y"}}}`)
	for id := "again"; ; id = "more" { // the first one may be lost with the host
		a, err := m.answer(fmt.Sprintf("%q", id))
		if err != nil {
			t.Fatal(err)
		}
		if a.Get("result.content.0.text").Str == "y" {
			break
		}
		m.say(`{"jsonrpc":"2.0","id":"more","method":"tools/call","params":{"name":"n__echo","arguments":{"text":"y"}}}`)
	}
}

// A client whose host was stopped goes on without it.
func TestRelayBehindStoppedHost(t *testing.T) {
	s := newFarewell(t)
	pid, _ := s.hosting(t)
	m := s.greeted(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	m.say(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	if a, err := m.answer(`"list"`); err != nil || len(a.Get("result.tools").Array()) == 0 {
		t.Errorf("%v %s", err, a.Raw)
	}
}
