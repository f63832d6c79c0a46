//go:build unix

package store

import "golang.org/x/sys/unix"

func umask(mask int) int { return unix.Umask(mask) }
