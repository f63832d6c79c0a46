//go:build unix

package store

import (
	"fmt"
	"io/fs"
)

// private refuses a file that others may read or write: what is in it may have been
// read already.
func private(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others may read it (mode %04o); chmod 600 it, and if somebody may have, log in again", mode)
	}
	return nil
}
