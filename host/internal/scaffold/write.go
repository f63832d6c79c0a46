package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes files as the directory dir, which is missing or empty. They are
// written beside it first: dir is there with all of them, or as it was.
func Write(dir string, files []File) error {
	target, err := place(dir)
	if err != nil {
		return err
	}
	staged, err := os.MkdirTemp(filepath.Dir(target), ".collet-new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	defer os.RemoveAll(staged)
	inside := filepath.Join(staged, filepath.Base(target)) // MkdirTemp's own is for nobody else to read
	for _, f := range files {
		path := filepath.Join(inside, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
	}
	// An empty directory goes out of the way; one that got a file meanwhile stays, and is
	// not written over.
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the empty directory %s: %w", dir, err)
	}
	if err := os.Rename(inside, target); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return nil
}

// place is where dir leads, when a project can be put there.
func place(dir string) (string, error) {
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("write %s: the working directory is gone (%w); go to one that is there", dir, err)
	}
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(target); err == nil {
			return "", fmt.Errorf("%s is a link to nothing; remove it, or name another directory", dir)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return "", fmt.Errorf("write %s: %w", dir, err)
		}
		return target, nil
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is there already, and is no directory; name another", dir)
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(here, info) {
		return "", fmt.Errorf("%s is the directory you are in, which cannot be replaced as a whole; go one up and name it from there", dir)
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is there already, and has %s in it; nothing was written: name another directory", dir, entries[0].Name())
	}
	return filepath.EvalSymlinks(target)
}
