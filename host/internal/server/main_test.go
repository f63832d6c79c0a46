package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/plugins"
)

// built is where TestMain puts the plugins.
var built string

// patience bounds every wait of these tests.
const patience = 30 * time.Second

func TestMain(m *testing.M) { os.Exit(testAll(m)) }

func testAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "server")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	for out, from := range map[string][2]string{
		"collet-plugin-testadapter": {".", "github.com/collet-dev/collet/sdk/internal/testadapter"},
		"collet-plugin-teststreams": {".", "github.com/collet-dev/collet/sdk/internal/testadapter"},
		"collet-plugin-hello":       {".", "github.com/collet-dev/collet/sdk/examples/hello"},
		"faultserver":               {".", "github.com/collet-dev/collet/sdk/internal/faultserver"},
		"collet-plugin-mcp":         {"../../../plugins/mcp", "."},
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, out), from[1])
		cmd.Dir = from[0]
		if text, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", out, err, text)
			return 1
		}
	}
	if code := m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// states records the states of a server.
type states struct {
	mu   sync.Mutex
	seen []State
	odd  []string // states that come without a process, or with one, and should not
	tell chan State
}

func (st *states) changed(_ string, s Status) {
	st.mu.Lock()
	if runs := s.State == Ready || s.State == Degraded; runs != (s.Pid != 0) {
		st.odd = append(st.odd, fmt.Sprintf("%s with pid %d", s.State, s.Pid))
	}
	st.seen = append(st.seen, s.State)
	st.mu.Unlock()
	st.tell <- s.State
}

func (st *states) list() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	var b strings.Builder
	for _, s := range st.seen {
		b.WriteString(string(s) + " ")
	}
	return strings.TrimSpace(b.String())
}

// await waits until the server reaches a state.
func (st *states) await(t *testing.T, want State) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case s := <-st.tell:
			if s == want {
				return
			}
		case <-late:
			t.Fatalf("never %s: %s", want, st.list())
		}
	}
}

// opened counts the servers of the running test.
var opened int

// open makes the server of an entry [servers.s] with that body, and closes it
// with the test.
func open(t *testing.T, body string, change ...func(*Surroundings)) (*Server, *states) {
	t.Helper()
	dir := t.TempDir()
	c := config.Parse(filepath.Join(dir, "mcp.toml"), []byte("[servers.s]\n"+body))
	for _, p := range c.Problems {
		t.Fatal(p)
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "BUILT=" + built, "SECRET=s3cret", "TMPDIR=" + os.TempDir()}
	st := &states{tell: make(chan State, 100)}
	env := Surroundings{
		Plugins:   plugins.Finder{Dirs: []string{built}},
		Describer: &plugins.Describer{CacheDir: filepath.Join(dir, "cache")},
		Resolver: config.Resolver{
			Lookup: func(k string) (string, bool) { v := variable(environ, k); return v, v != "" },
			Command: func(_ context.Context, script, _ string) (string, error) {
				return "", fmt.Errorf("%s failed", script)
			},
		},
		Environ: environ,
		LogDir:  filepath.Join(dir, "logs"),
		Log:     slog.New(slog.DiscardHandler),
		Version: "test",
		Changed: st.changed,
	}
	for _, f := range change {
		f(&env)
	}
	s := New(c.Servers[0], env)
	opened++
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error("close:", err)
		}
		if len(st.odd) > 0 {
			t.Errorf("told of %v", st.odd)
		}
		if opened--; opened == 0 {
			noneLeft(t)
		}
	})
	return s, st
}

// noneLeft fails the test when a program built for it still runs. Tests of this
// package are not parallel, so nobody else's can. Without /proc it sees nothing.
func noneLeft(t *testing.T) {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && strings.HasPrefix(exe, built+"/") {
			t.Errorf("%s runs %s still", link, exe)
		}
	}
}

// testadapter is the plugin that the tests are of. Under its other name it takes calls
// on streams.
var testadapter = "testadapter"

func adapterEntry() string { return fmt.Sprintf("plugin = %q\n", testadapter) }

func fault(modes string) string {
	return adapterEntry() + fmt.Sprintf("env = { FAULT = %q }\nstart_timeout = \"2s\"\n", modes)
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func mustStart(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Ready(patient(t), 0); err != nil {
		t.Fatal("start:", err)
	}
}

func tool(t *testing.T, s *Server, name string) *catalog.Tool {
	t.Helper()
	tools, _ := s.Tools()
	for _, x := range tools {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func do(t *testing.T, s *Server, name, args string) (*Answer, error) {
	t.Helper()
	return s.Do(patient(t), &Request{Tool: tool(t, s, name), Arguments: []byte(args), ID: "c"})
}
