//go:build unix

package sharedfile

import (
	"os"

	"github.com/collet-dev/collet/host/internal/regular"
)

// OpenFile is regular.OpenFile.
func OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	return regular.OpenFile(path, flag, perm)
}

// Rename renames a file with what it is given, os.Rename or a method of os.Root.
func Rename(rename func(from, to string) error, from, to string) error { return rename(from, to) }
