package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// reserveSize is memory that is held and never touched, and so takes up none. The
// garbage collector runs when twice of what is alive has been allocated; of the few MiB
// of a small front that would be every few hundred calls, for a tenth of the work, and
// of a command, which ends soon, several times before its answer.
const reserveSize = 16 << 20

// Main is the whole program: it runs the process's command line on its streams
// and returns the exit code. The first Ctrl-C, or the end of the terminal, cancels what is going on, so that
// servers are stopped; the second kills at once.
func Main(version string) int {
	host.ScriptProcess()
	reserve := make([]byte, reserveSize)
	defer runtime.KeepAlive(reserve)

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
	f.shares = true
	return f.Run(ctx, os.Args[1:])
}
