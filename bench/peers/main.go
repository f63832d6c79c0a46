// Command peers measures what people wait for, with collet and with other programs
// that list and call the tools of many MCP servers: a command and its end, a
// client and its answer, a server that dies or never speaks. It writes PEERS.md.
//
// Everything is asked of the programs as their documentation says, with their
// defaults, the same servers and, where they are servers themselves, the same
// client. They take turns, so that what else the machine does hits all of them.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/collet-dev/collet/bench/internal/machine"
)

// servers is how many servers stand behind each program.
const servers = 10

// patience bounds each wait for something that should be there in a moment.
const patience = 30 * time.Second

func main() {
	bin := flag.String("bin", "bin", "the directory of collet and collet-plugin-mcp")
	npm := flag.String("npm", ".cache/peers", "the directory that the packages of bench/peers/npm are installed in")
	out := flag.String("out", "", "the `FILE` to write the page to, besides stdout")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *npm, *out); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, npm, out string) error {
	dir, err := os.MkdirTemp("", "collet-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	page := report{machine: machine.Line(), commit: machine.Commit()}
	f := &field{dir: dir, echo: filepath.Join(dir, "echoserver")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", f.echo, "github.com/collet-dev/collet/bench/internal/echoserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the echo server (run peers in its repository): %w\n%s", err, text)
	}
	if err := f.link(); err != nil {
		return err
	}
	if f.collet, err = filepath.Abs(filepath.Join(bin, "collet")); err != nil {
		return err
	}
	if f.npm, err = filepath.Abs(filepath.Join(npm, "node_modules")); err != nil {
		return err
	}
	if page.versions, err = f.versions(ctx); err != nil {
		return err
	}
	progress("commands")
	if page.commands, err = f.measureCommands(ctx); err != nil {
		return fmt.Errorf("commands: %w", err)
	}
	if page.gateways, err = f.measureGateways(ctx); err != nil {
		return fmt.Errorf("gateways: %w", err)
	}
	var text bytes.Buffer
	page.write(&text)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil || out == "" {
		return err
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}

// progress says what is measured, for who waits.
func progress(what string) { fmt.Fprintln(os.Stderr, "peers:", what) }
