package trust

import "os"

// private has nothing to look at: the profile directory that the store is in is
// its owner's by its access list.
func private(*os.File) error { return nil }
