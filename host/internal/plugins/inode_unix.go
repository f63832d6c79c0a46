//go:build unix

package plugins

import (
	"io/fs"
	"syscall"
)

// inode returns the number of a file in its file system.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
