package pins

import (
	"io/fs"
	"syscall"
)

func inode(info fs.FileInfo) (device, number uint64, changed int64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return uint64(s.Dev), s.Ino, s.Ctimespec.Nano()
}
