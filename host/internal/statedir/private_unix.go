//go:build unix

package statedir

import (
	"fmt"
	"io/fs"
)

// private refuses a directory in which others may put files of theirs in the
// place of the host's.
func private(dir fs.FileInfo) error {
	if mode := dir.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write to the directory (mode %04o); look through it, then chmod 700 it", mode)
	}
	return nil
}
