// Package rewrite gives a file other contents at once: a reader sees the old ones
// or the new ones, a failure leaves the old ones, and what somebody else wrote
// meanwhile is not lost.
//
// It never looks at what is in a file, and never makes a file readable to more
// people than it was.
package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// maxLinks is the most symbolic links that are followed one after the other, as
// Linux has it.
const maxLinks = 40

// Target is the file that path names behind symbolic links, also when the last of
// them leads to nothing yet.
func Target(path string) (string, error) {
	for range maxLinks {
		target, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return target, err
		}
		next, err := os.Readlink(path)
		if err != nil {
			return path, nil // there is nothing at all
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// Read returns what is in a file, at most limit bytes and one more, and nil when
// there is none.
func Read(path string, limit int64) ([]byte, error) {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// What keeps File from writing although the system would let it.
var (
	ErrReadOnly = errors.New("it is read-only")
	ErrChanged  = errors.New("somebody else has changed it meanwhile; run the command again")
)

// File puts after in the place of before, which is what Read has returned. A new
// file, and a directory made for it, are for nobody but the user: configurations
// hold secrets. An old file keeps its permissions; one that its owner may not
// write to is left alone.
func File(path string, before, after []byte) error {
	if err := file(path, before, after); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func file(path string, before, after []byte) error {
	target, err := Target(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if fi, err := os.Stat(target); err == nil {
		if mode = fi.Mode().Perm(); mode&0o200 == 0 {
			return ErrReadOnly
		}
	}
	// Next to the file, or it could not be renamed; CreateTemp makes it 0600.
	temp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails once it is renamed
	_, err = temp.Write(after)
	err = errors.Join(err, temp.Sync(), temp.Close(), os.Chmod(temp.Name(), mode))
	if err != nil {
		return err
	}
	now, err := Read(target, int64(len(before)))
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return ErrChanged
	}
	return sharedfile.Rename(os.Rename, temp.Name(), target)
}

// Backup is what became of the copy beside a file.
type Backup struct {
	Path string
	Made bool // false: there is one already, with other contents, and it stays
}

// Keep makes a copy of a file's contents beside it, at its name and .bak, with its
// permissions. A copy that is there is the older one and is never overwritten; nil
// means that nothing had to be copied.
func Keep(path string, contents []byte) (*Backup, error) {
	target, err := Target(path)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := &Backup{Path: target + ".bak"}
	out, err := os.OpenFile(b.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fi.Mode().Perm()&0o700|0o200)
	if errors.Is(err, fs.ErrExist) {
		old, err := Read(b.Path, int64(len(contents)))
		if err == nil && slices.Equal(old, contents) {
			return nil, nil
		}
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	b.Made = true
	_, err = out.Write(contents)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		os.Remove(b.Path) // half a copy is none
		return nil, fmt.Errorf("write %s: %w", b.Path, err)
	}
	return b, nil
}
