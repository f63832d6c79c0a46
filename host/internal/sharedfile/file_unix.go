//go:build unix

package sharedfile

import "os"

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}

// Rename renames a file with what it is given, os.Rename or a method of os.Root.
func Rename(rename func(from, to string) error, from, to string) error { return rename(from, to) }
