// Package lockfile keeps processes from changing the same file at once: one of
// them holds the lock of a file beside it.
//
// The lock is advisory, the kernel releases it when its holder dies, and the file
// that carries it stays. It never reads or writes what it protects.
package lockfile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// retry is how often a lock that another process holds is tried again. Holders
// need milliseconds.
const retry = 10 * time.Millisecond

// Lock takes the lock that the file at path carries, which it makes with mode
// 0600, and waits for it until ctx is done.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := sharedfile.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		taken, err := try(file)
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if taken {
			return func() { file.Close() }, nil
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("another process holds the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(retry):
		}
	}
}
