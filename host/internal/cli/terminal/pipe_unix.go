//go:build unix

package terminal

import (
	"errors"
	"syscall"
)

// isClosedPipe says whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
