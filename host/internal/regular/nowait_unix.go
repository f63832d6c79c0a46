//go:build unix

package regular

import "golang.org/x/sys/unix"

// noWait lets the opening of a pipe without a writer return.
const noWait = unix.O_NONBLOCK
