//go:build unix

package tokenfile

import (
	"fmt"
	"os"
)

// private refuses a file that anybody but its owner may read or write.
func private(state os.FileInfo) error {
	if mode := state.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others may read or write it (mode %04o): chmod 600 it, and replace the tokens if others had access", mode)
	}
	return nil
}
