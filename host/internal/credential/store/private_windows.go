package store

import "io/fs"

// private has nothing to look at: the profile directory that the file is in is its
// owner's by its access list.
func private(fs.FileInfo) error { return nil }
