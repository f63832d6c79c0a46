// Package statedir opens directories of what the host keeps between runs, and
// refuses those in which somebody else could put files of theirs in the place of
// the host's. It knows nothing of what is in them.
package statedir

import (
	"errors"
	"os"
	"path/filepath"
)

// Open opens the directory at an absolute path. With create, it is made with mode
// 0700 when it is missing; otherwise that is fs.ErrNotExist.
func Open(path string, create bool) (*os.Root, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the directory has no absolute path; is there a home directory?")
	}
	if create {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil {
		err = private(info)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}
