package configedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxRead is more than config takes for an mcp.toml, which then says so; it keeps
// a wrong path (a log, a device) from filling memory.
const maxRead = 2 << 20

// Read returns what is in an mcp.toml, nil when there is none yet.
func Read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRead))
}

// Write makes the addition. The file is replaced at once by one that holds all of
// it, behind a symbolic link too; a reader never sees half of it, and a failure
// leaves the old one. A new file, and a directory made for it, are for nobody but
// the user: what is imported may hold secrets. An old file keeps its permissions.
func (p *Plan) Write() error {
	if len(p.Text) == 0 {
		return nil
	}
	target, err := filepath.EvalSymlinks(p.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = p.File
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return fmt.Errorf("write %s: %w", p.File, err)
		}
	case err != nil:
		return fmt.Errorf("write %s: %w", p.File, err)
	}
	mode := fs.FileMode(0o600)
	if fi, err := os.Stat(target); err == nil {
		mode = fi.Mode().Perm()
	}
	// Next to the file, or it could not be renamed; CreateTemp makes it 0600.
	temp, err := os.CreateTemp(filepath.Dir(target), ".mcp.toml.*")
	if err != nil {
		return fmt.Errorf("write %s: %w", p.File, err)
	}
	defer os.Remove(temp.Name()) // fails once it is renamed
	_, err = temp.Write(slices.Concat(p.before, p.Text))
	err = errors.Join(err, temp.Sync(), temp.Close(), os.Chmod(temp.Name(), mode))
	if err != nil {
		return fmt.Errorf("write %s: %w", p.File, err)
	}
	now, err := Read(target)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.File, err)
	}
	if !bytes.Equal(now, p.before) {
		return fmt.Errorf("write %s: somebody else has changed it meanwhile; run the command again", p.File)
	}
	if err := os.Rename(temp.Name(), target); err != nil {
		return fmt.Errorf("write %s: %w", p.File, err)
	}
	return nil
}
