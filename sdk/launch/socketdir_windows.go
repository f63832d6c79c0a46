package launch

import "os"

// socketBases has no choice to make: go-plugin speaks TCP on Windows and only
// wants a directory to exist.
func socketBases() []string { return []string{os.TempDir()} }

type lockedDir struct{ path string }

func lockDirIn(base string) (*lockedDir, error) {
	path, err := os.MkdirTemp(base, "collet-")
	if err != nil {
		return nil, err
	}
	return &lockedDir{path: path}, nil
}

func (d *lockedDir) remove() { _ = os.RemoveAll(d.path) }
