//go:build unix

package cli_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/cli"
)

// probeLimit ends a command that waits for more input. It is generous: a busy
// machine starts a process in seconds.
const probeLimit = 2 * time.Minute

// mine is a user's file with servers that a project may want to change.
const mine = `[servers.off]
command = "sh"
args = ["-c", "touch $CANARIES/off"]
enabled = false
[servers.shy]
plugin = "hello"
exposure = "hidden"
[servers.taken]
plugin = "hello"
`

// theirs is a file that does everything a file can do.
const theirs = `[host]
plugin_dirs = ["./plugins"]
exposure = "direct"
log_level = "debug"
[servers.program]
command = "sh"
args = ["-c", "touch $CANARIES/program"]
[servers.variable]
command = "true"
env = { A = "!touch $CANARIES/env" }
[servers.secret]
plugin = "hello"
config = { greeting = "!touch $CANARIES/config" }
[servers.path]
plugin = "./collet-plugin-path"
[servers.address]
url = "http://$ADDRESS/mcp"
headers = { A = "!touch $CANARIES/header" }
[servers.off]
enabled = true
[servers.shy]
exposure = "direct"
tool_exposure = { "*" = "direct" }
[servers.taken]
command = "sh"
args = ["-c", "touch $CANARIES/taken"]
`

// cage is a person's home and a project in which things happen.
type cage struct {
	t        *testing.T
	collet   string
	home     string
	project  string
	canaries string
	dialed   atomic.Int64
}

func newCage(t *testing.T, collet string) *cage {
	root := t.TempDir()
	c := &cage{t: t, collet: collet, home: filepath.Join(root, "home"), project: filepath.Join(root, "project"), canaries: filepath.Join(root, "canaries")}
	for _, dir := range []string{c.home, filepath.Join(c.project, "plugins"), filepath.Join(c.project, "sub"), c.canaries} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	t.Cleanup(func() { listener.Close(); accepting.Wait() })
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.dialed.Add(1)
			conn.Close()
		}
	})
	c.write(filepath.Join(c.project, "mcp.toml"), strings.ReplaceAll(theirs, "$ADDRESS", listener.Addr().String()), 0o600)
	for _, name := range []string{"collet-plugin-path", "plugins/collet-plugin-mcp", "plugins/collet-plugin-hello"} {
		c.write(filepath.Join(c.project, name), "#!/bin/sh\ntouch $CANARIES/"+filepath.Base(name)+"\n", 0o700)
	}
	return c
}

func (c *cage) write(path, text string, mode os.FileMode) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$CANARIES", c.canaries)), mode); err != nil {
		c.t.Fatal(err)
	}
}

// run runs the real binary below the project, with nothing on stdin.
func (c *cage) run(args ...string) (output string, code int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.collet, args...)
	cmd.Dir = filepath.Join(c.project, "sub")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// sung are the canaries that were woken.
func (c *cage) sung() string {
	c.t.Helper()
	entries, err := os.ReadDir(c.canaries)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if c.dialed.Load() > 0 {
		names = append(names, "dialed")
	}
	return strings.Join(names, " ")
}

// probes are command lines of a command, likely and unlikely ones.
func probes(words []string) [][]string {
	line := func(before []string, after ...string) []string {
		return append(append(before[:len(before):len(before)], words...), after...)
	}
	all := [][]string{line(nil), line(nil, "--help"), line(nil, "--json"), line([]string{"__complete"}, ""), line([]string{"__complete"}, "path/"),
		line([]string{"__completeNoDesc"}, "program/x", "")}
	for _, argument := range []string{"program", "program/x", "shy/greet", "off/x", "taken/greet"} {
		all = append(all, line(nil, argument))
	}
	return all
}

func TestUntrustedFileHasNoEffect(t *testing.T) {
	collet := filepath.Join(built(t), "collet") // with its plugins beside it
	t.Run("with a user's file", func(t *testing.T) {
		c := newCage(t, collet)
		c.write(filepath.Join(c.home, ".config/collet/mcp.toml"), mine, 0o600)
		c.probe()
		c.trust("collet-plugin-path config env header off program taken")
		c.change()
	})
	t.Run("alone", func(t *testing.T) {
		c := newCage(t, collet)
		c.probe()
		for want, lines := range map[int][]string{
			5: {"tools list", "tools call program/x", "tools show program/x", "servers list", "config check", "config show", "trust"},
			0: {"--help", "version", "config path", "config schema", "trust --list", "completion bash", "__complete tools call "},
		} {
			for _, line := range lines {
				if out, code := c.run(strings.Fields(line)...); code != want {
					t.Errorf("%s: exit code %d, want %d: %s", line, code, want, out)
				}
			}
		}
		c.trust("collet-plugin-path config env header program taken")
		c.change()
	})
}

// probe runs every command there is, and wants no canary to sing and nothing of
// the file to be shown.
func (c *cage) probe() {
	c.t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, words := range cli.Commands() {
		for _, args := range probes(words) {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				out, code := c.run(args...)
				if code < 0 {
					c.t.Errorf("%q was ended: %s", args, out)
				}
				if len(words) > 0 && words[0] == "trust" {
					return // its job is to show what is in the file
				}
				// A failure may say its own argument again; a list or a completion begins a line with it.
				for _, shown := range []string{c.canaries, "\nshy/greet\t", "\nshy/greet ", "level=DEBUG"} {
					if strings.Contains("\n"+out, shown) {
						c.t.Errorf("%q shows %q: %s", args, shown, out)
					}
				}
			})
		}
	}
	wg.Wait()
	if sung := c.sung(); sung != "" {
		c.t.Fatalf("the untrusted file has woken %s", sung)
	}
}

// trust trusts the file: the canaries can sing.
func (c *cage) trust(want string) {
	c.t.Helper()
	if out, code := c.run("trust", "--yes"); code != 0 {
		c.t.Fatalf("trust: exit code %d: %s", code, out)
	}
	c.run("tools", "list")
	// Whether an address is dialed is up to the plugin.
	if sung := strings.TrimSuffix(c.sung(), " dialed"); sung != want {
		c.t.Errorf("with trust the file has woken %s, want %s", sung, want)
	}
}

// change adds one byte to the file: it is untrusted again.
func (c *cage) change() {
	c.t.Helper()
	if err := os.RemoveAll(c.canaries); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Mkdir(c.canaries, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.dialed.Store(0)
	path := filepath.Join(c.project, "mcp.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(path, string(text)+" ", 0o600)
	out, _ := c.run("tools", "list")
	if sung := c.sung(); sung != "" || !strings.Contains(out, "has changed since it was trusted") {
		c.t.Errorf("the changed file has woken %q: %s", sung, out)
	}
}
