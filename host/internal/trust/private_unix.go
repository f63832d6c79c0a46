//go:build unix

package trust

import (
	"fmt"
	"os"
)

// private refuses a store that others may write to: they could trust a file in
// this person's name.
func private(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write to it (mode %04o); look through it, then chmod 600 it", mode)
	}
	return nil
}
