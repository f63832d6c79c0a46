//go:build unix

package store

import (
	"errors"
	"syscall"
)

// Full reports whether an error says that a disk, or somebody's share of it, is full.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
