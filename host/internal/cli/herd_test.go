//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// herdRounds is how often the host is killed; more by hand.
const herdRounds = 2

// shared is one user's environment for real processes that share a host.
type shared struct {
	home, sockets, bin string
	joined             []*member
}

func newShared(t *testing.T, toml string) *shared {
	t.Helper()
	s := &shared{home: t.TempDir(), bin: built(t)}
	var err error
	if s.sockets, err = os.MkdirTemp("/tmp", "x"); err != nil { // their addresses are short
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.sockets) })
	t.Cleanup(s.end)
	toml = strings.ReplaceAll(toml, "${BIN}", s.bin)
	if err := os.WriteFile(filepath.Join(s.home, "mcp.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shared) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "collet"), args...)
	cmd.Dir = s.home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "XDG_RUNTIME_DIR=" + s.sockets,
		"XDG_STATE_HOME=" + filepath.Join(s.home, "state"), "COLLET_CONFIG=" + filepath.Join(s.home, "mcp.toml"),
	}
	return cmd
}

// member is a client of MCP and its collet.
type member struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *bufio.Reader
}

func (s *shared) join(t *testing.T) *member {
	t.Helper()
	m := &member{cmd: s.command(context.Background(), "serve", "--stdio")}
	var err error
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.said = bufio.NewReader(out)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.joined = append(s.joined, m)
	return m
}

// end ends all clients: the one that is the host waits for the others.
func (s *shared) end() {
	for _, m := range s.joined {
		_ = m.in.Close()
	}
	for _, m := range s.joined {
		stop := time.AfterFunc(awaitLimit, func() { _ = m.cmd.Process.Kill() })
		_ = m.cmd.Wait()
		stop.Stop()
	}
}

func (m *member) say(line string) { _, _ = io.WriteString(m.in, line+"\n") } // who has gone answers nothing

// answer is the answer to a request, whatever else is said before.
func (m *member) answer(id string) (gjson.Result, error) {
	stop := time.AfterFunc(awaitLimit, func() { _ = m.cmd.Process.Kill() })
	defer stop.Stop()
	for {
		line, err := m.said.ReadString('\n')
		if err != nil {
			return gjson.Result{}, fmt.Errorf("no answer to %s: %w", id, err)
		}
		if got := gjson.Get(line, "id"); got.Raw == id && !gjson.Get(line, "method").Exists() {
			return gjson.Parse(line), nil
		}
	}
}

// Of many clients whose host is killed one becomes the host, with one process of each
// server, and the others go on with that; so does who starts at the same moment. Each
// has its next call answered.
func TestHerd(t *testing.T) {
	s := newShared(t, "[host]\nplugin_dirs = [\"${BIN}\"]\n[servers.a]\nplugin = \"fault\"\nexposure = \"direct\"\n[servers.b]\nplugin = \"fault\"\nexposure = \"direct\"\n")
	const members = 8
	herd := map[int]*member{}
	enter := func() {
		for len(herd) < members {
			m := s.join(t)
			herd[m.cmd.Process.Pid] = m
			m.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
			m.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
	}
	enter()
	for round := range herdRounds {
		owner := s.check(t, herd, round)
		killed := herd[owner]
		delete(herd, owner)
		before := maps.Clone(herd)
		for _, m := range before { // what is in flight
			m.say(`[{"jsonrpc":"2.0","id":"lost","method":"tools/call","params":{"name":"a__hang","arguments":{}}},{"jsonrpc":"2.0","id":"listed","method":"tools/list"}]`)
		}
		for _, m := range before {
			if a, err := m.answer(`"listed"`); err != nil || len(a.Get("result.tools").Array()) == 0 {
				t.Fatalf("round %d, a batch: %v %s", round, err, a.Raw)
			}
		}
		if err := killed.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		enter()
		for _, m := range before {
			if a, err := m.answer(`"lost"`); err != nil || a.Get("result.structuredContent.error.delivery").Str != "unknown" {
				t.Fatalf("round %d, a call that was lost: %v %s", round, err, a.Raw)
			}
		}
	}
	s.check(t, herd, herdRounds)
}

// check has each member make calls, and returns which of them is the host of all.
func (s *shared) check(t *testing.T, herd map[int]*member, round int) int {
	t.Helper()
	for _, server := range []string{"a", "b"} {
		counts := map[string]bool{} // each process counts for itself
		for _, m := range herd {
			m.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + server + `__count","arguments":{}}}`)
		}
		for _, m := range herd {
			a, err := m.answer("1")
			if err != nil || a.Get("result.isError").Bool() || !a.Get("result").Exists() {
				t.Fatalf("round %d, a call: %v %s", round, err, a.Raw)
			}
			counts[a.Get("result.content.0.text").Str] = true
		}
		if len(counts) != len(herd) {
			t.Errorf("round %d: %d clients have several processes of %s, which count to %v", round, len(herd), server, slices.Collect(maps.Keys(counts)))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
	defer cancel()
	status := s.command(ctx, "daemon", "status", "--json")
	out, err := status.Output()
	if err != nil {
		t.Fatalf("round %d, status: %v %s", round, err, out)
	}
	owner := int(gjson.GetBytes(out, "pid").Int())
	if herd[owner] == nil || gjson.GetBytes(out, "clients").Int() != int64(len(herd)-1) {
		t.Fatalf("round %d: the host is none of the %d clients' or does not serve the others: %s", round, len(herd), out)
	}
	return owner
}
