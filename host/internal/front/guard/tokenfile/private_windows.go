package tokenfile

import "os"

// private has nothing to look at: who may read the file is in its access list, and
// in a profile directory that is its owner alone.
func private(os.FileInfo) error { return nil }
