// Package regular opens regular files. A pipe or a device that lies in the place of one,
// perhaps put there by somebody else, is refused, and nobody waits for who is at its other
// end. It knows nothing of what is in the files.
package regular

import (
	"errors"
	"io/fs"
	"os"
)

// ErrOther is that what lies there is something else.
var ErrOther = errors.New("it is no regular file")

// Open is os.Open.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return check(os.OpenFile(path, flag|noWait, perm))
}

// In is root.OpenFile.
func In(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	return check(root.OpenFile(name, flag|noWait, perm))
}

func check(file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: file.Name(), Err: ErrOther}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
