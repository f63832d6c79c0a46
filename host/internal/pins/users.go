package pins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// configEnd is what the name of a note ends with that says whose pins these are.
const configEnd = ".config"

// maxPath bounds a path, in bytes. No system allows one that long.
const maxPath = 64 << 10

// noteUser notes that an mcp.toml has an installed plugin executed, so that whoever
// removes versions of it knows which mcp.lock to look into. A note that cannot be
// written, or that was cut short by a crash, fails no start: the next one writes it.
func (k *Keeper) noteUser(u Use) {
	if k.Installed == "" || !strings.HasPrefix(u.Path, k.Installed+string(filepath.Separator)) {
		return
	}
	note := k.File(u.Config).Fallback + configEnd
	if have, err := readBytes(note); err == nil && string(have) == u.Config {
		return
	}
	if os.MkdirAll(filepath.Dir(note), 0o700) == nil {
		_ = os.WriteFile(note, []byte(u.Config), 0o600)
	}
}

// Users are the mcp.toml files that were noted to have installed plugins executed.
func Users(state string) ([]string, error) {
	dir := filepath.Join(state, "pins")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), configEnd) {
			continue
		}
		config, err := readBytes(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if filepath.IsAbs(string(config)) && len(config) <= maxPath {
			all = append(all, string(config))
		}
	}
	return all, nil
}

// Naming says, of those digests that stand in an mcp.toml or in the files that pin for
// it, in which. It looks for the digest as text, so that a file that cannot be
// understood names what it did before it was damaged. A file that is not there names
// nothing; one that cannot be read is an error.
func Naming(configs []string, state string, digests []string) (map[string]string, error) {
	found := map[string]string{}
	for _, config := range configs {
		f := FileOf(config, state)
		for _, path := range []string{f.Path, f.Fallback, config} {
			data, err := readFile(path)
			if err == nil && len(data) > maxFile {
				err = fmt.Errorf("it is larger than %d bytes", maxFile)
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s may name a version, and cannot be read: %w; make it readable, or move it away", path, err)
			}
			for _, sum := range digests {
				if found[sum] == "" && strings.Contains(string(data), sum) {
					found[sum] = path + " names it"
				}
			}
		}
	}
	return found, nil
}
