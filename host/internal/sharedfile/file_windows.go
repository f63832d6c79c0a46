package sharedfile

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"

	"github.com/collet-dev/collet/host/internal/regular"
)

const (
	// renameWait bounds the wait for those who have a file open. They read it whole and
	// close it, which takes milliseconds; what scans files for viruses takes longer.
	renameWait = time.Second
	renameTry  = 5 * time.Millisecond
)

// OpenFile opens a regular file that may be renamed and removed meanwhile. A link out of its
// directory is not followed.
func OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return regular.In(dir, filepath.Base(path), flag, perm)
}

// Rename renames a file with what it is given, os.Rename or a method of os.Root, and
// tries again while another process has one of the two files open.
func Rename(rename func(from, to string) error, from, to string) error {
	for end := time.Now().Add(renameWait); ; time.Sleep(renameTry) {
		err := rename(from, to)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || time.Now().After(end) {
			return err
		}
	}
}
