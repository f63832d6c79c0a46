package pins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/collet-dev/collet/host/internal/config"
)

// configEnd is what the name of a note ends with that says whose pins these are.
const configEnd = ".config"

// maxPath bounds a path, in bytes. No system allows one that long.
const maxPath = 64 << 10

// noteUser notes that an mcp.toml has an installed plugin executed, so that whoever
// removes versions of it knows which mcp.lock to look into. A note that cannot be
// written, or that was cut short by a crash, fails no start: the next one writes it.
func (k *Keeper) noteUser(u Use) {
	if !k.installed(u.Path) {
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

// installed reports whether a file is among the installed plugins, or is a link, perhaps of
// the user's own, that leads there.
func (k *Keeper) installed(path string) bool {
	if k.Installed == "" {
		return false
	}
	below := func(dir, path string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }
	if below(k.Installed, path) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(k.Installed)
	return err == nil && below(dir, real)
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
// it, in which. It looks for the digest as text, so that it finds what another platform
// needs, and what entries name that do not count. A file that is not there names nothing.
// One that cannot be read, is damaged or was written by a newer collet is an error: it may
// have named any version.
func Naming(configs []string, state string, digests []string) (map[string]string, error) {
	found := map[string]string{}
	for _, toml := range configs {
		f := FileOf(toml, state)
		for _, path := range []string{f.Path, f.Fallback, toml} {
			data, err := readFile(path)
			if err == nil && len(data) > maxFile {
				err = fmt.Errorf("it is larger than %d bytes", maxFile)
			}
			if data == nil && err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s may name a version, and cannot be read: %w; make it readable, or move it away", path, err)
			}
			if path == toml {
				err = config.Skipped(data)
			} else {
				_, err = parse(data)
			}
			if err != nil {
				return nil, fmt.Errorf("%s may name a version, and cannot be understood: %w; repair it, or move it away", path, err)
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
