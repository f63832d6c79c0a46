package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"
)

// field is what all programs share.
type field struct {
	dir    string // for files
	echo   string // the server that stands behind them
	collet string
	npm    string // node_modules with the others
	places int    // how many there were
}

// place is where a program runs: a home of its own, with nothing of a user's in it,
// and a mark in the environment by which its processes are found.
type place struct {
	home, mark string
	env        []string
}

func (f *field) place() (place, error) {
	f.places++
	p := place{home: filepath.Join(f.dir, fmt.Sprintf("home%d", f.places)), mark: fmt.Sprintf("COLLET_BENCH_PLACE=%s/%d", f.dir, f.places)}
	p.env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), p.mark}
	return p, os.Mkdir(p.home, 0o700)
}

// behind is one server behind the programs.
type behind struct {
	name string
	args []string
}

// echoes are n servers that answer, echo0 and so on.
func echoes(n int) []behind {
	var all []behind
	for i := range n {
		all = append(all, behind{name: fmt.Sprintf("echo%d", i)})
	}
	return all
}

// server is the echo server under a name of its own.
func (f *field) server(name string) string { return filepath.Join(f.dir, name) }

// link gives the servers their names.
func (f *field) link() error {
	for _, s := range append(echoes(servers), behind{name: "mute"}) {
		if err := os.Symlink(f.echo, f.server(s.name)); err != nil {
			return err
		}
	}
	return nil
}

// toml is collet's configuration: all tools in the list, as the others have them.
func (f *field) toml(p place, all []behind) (string, error) {
	var b strings.Builder
	b.WriteString("[host]\nexposure = \"direct\"\nresponse_budget = \"64MiB\"\n")
	for _, s := range all {
		fmt.Fprintf(&b, "[servers.%s]\ncommand = %q\n", s.name, f.server(s.name))
		if len(s.args) > 0 {
			fmt.Fprintf(&b, "args = [%q]\n", s.args[0])
		}
	}
	file := filepath.Join(p.home, "mcp.toml")
	return file, os.WriteFile(file, []byte(b.String()), 0o600)
}

// json is what the others read. Members of one that the other does not know do no
// harm.
func (f *field) json(p place, all []behind) (string, error) {
	type server struct {
		Command   string   `json:"command"`
		Args      []string `json:"args"`
		Lifecycle string   `json:"lifecycle"` // of mcporter: its daemon and `serve` have these alone
	}
	config := struct {
		Imports []string          `json:"imports"`
		Servers map[string]server `json:"mcpServers"`
	}{[]string{}, map[string]server{}}
	for _, s := range all {
		config.Servers[s.name] = server{f.server(s.name), append([]string{}, s.args...), "keep-alive"}
	}
	b, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	file := filepath.Join(p.home, "mcp.json")
	return file, os.WriteFile(file, b, 0o600)
}

// program is the path of a program of npm.
func (f *field) program(name string) string { return filepath.Join(f.npm, ".bin", name) }

// versions are the programs that take part.
func (f *field) versions(ctx context.Context) ([]string, error) {
	all := []string{}
	for _, name := range []string{"mcporter", "mcp-hub"} {
		b, err := os.ReadFile(filepath.Join(f.npm, name, "package.json"))
		if err != nil {
			return nil, fmt.Errorf("%s is not installed (make bench-peers does that): %w", name, err)
		}
		all = append(all, name+" "+gjson.GetBytes(b, "version").String())
	}
	node, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("node --version: %w", err)
	}
	return append(all, "Node.js "+strings.TrimSpace(string(node))), nil
}

// freePort is a port of this machine that nobody uses.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
