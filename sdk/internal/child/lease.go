package child

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// OutliveHost lets this process outlive the host by the moment it takes to close
// what it has opened. Without it the first log line into the host's closed pipe is
// the end (os/signal, "SIGPIPE"), and a child that does not mind the end of its
// stdin is left behind. Listening, unlike ignoring, is not inherited by children.
func OutliveHost() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// HoldLease leaves, with status 0 after leave has returned, once stdin ends: the
// host holds the other end and writes nothing, so its end means that the host is
// gone, however it died. The goroutine ends with the process. It does nothing for
// a host that offers no lease.
func HoldLease(log *slog.Logger, leave func()) {
	if os.Getenv(wire.LeaseEnv) != wire.LeaseStdin {
		return
	}
	lease := os.Stdin
	// Authors' code, and children it starts, must not read from the lease.
	if null, err := os.Open(os.DevNull); err == nil {
		os.Stdin = null
	}
	go func() {
		_, _ = io.Copy(io.Discard, lease)
		log.Info("the host is gone, leaving")
		leave()
		os.Exit(0)
	}()
}
