package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// Main is the whole program: it runs the process's command line on its streams
// and returns the exit code. The first Ctrl-C, or the end of the terminal, cancels what is going on, so that
// servers are stopped; the second kills at once.
func Main(version string) int {
	host.ScriptProcess()

	// Listening for SIGPIPE turns a closed stdout into a write error instead of a
	// sudden death. Ignoring it would be inherited by every server.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // else nohup has it outlive its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	f := New(terminal.System(os.Getenv), os.Getenv, version)
	f.homeless = ensureHome()
	return f.Run(ctx, os.Args[1:])
}
