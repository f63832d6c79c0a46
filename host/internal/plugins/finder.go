// Package plugins finds plugin binaries on disk and knows what they are: where a
// plugin's name leads, and what the binary says about itself.
//
// It never looks on PATH, never decides whether a binary may run, and never starts
// an adapter: the only thing it runs is "BINARY describe".
package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/name"
)

// Prefix is what the file name of every plugin begins with.
const Prefix = "collet-plugin-"

// suffix is what it ends with.
var suffix = func() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}()

// Finder finds plugins.
type Finder struct {
	// Dirs are the directories to look in, the first one that has it wins. Empty
	// ones are skipped.
	Dirs []string
}

// Find returns the absolute path of a plugin. A plugin that holds a slash (on
// Windows also a backslash) is a path, relative to base; any other is the name of
// a file collet-plugin-<plugin> in one of f.Dirs. On Windows ".exe" may be left out
// of both. The file has to be a regular one that may be executed. The error names
// every place looked in and why what is there does not do, and plugins found there
// under similar names.
func (f Finder) Find(plugin, base string) (string, error) {
	if plugin == "" {
		return "", errors.New("the plugin's name is empty")
	}
	if isPath(plugin) {
		return findPath(plugin, base)
	}
	var tried []string
	for _, dir := range f.Dirs {
		if dir == "" {
			continue
		}
		path, err := filepath.Abs(filepath.Join(dir, Prefix+strings.TrimSuffix(plugin, suffix)+suffix))
		if err != nil {
			return "", fmt.Errorf("looking for plugin %q in %s: %w", plugin, dir, err)
		}
		why := unusable(path)
		if why == "" {
			return path, nil
		}
		tried = append(tried, path+" ("+why+")")
	}
	if len(tried) == 0 {
		return "", fmt.Errorf("plugin %q cannot be looked for: there is no plugin directory; name it by its path, or set host.plugin_dirs", plugin)
	}
	hint := ""
	if near := name.Near(plugin, f.names(), 3); len(near) > 0 {
		hint = fmt.Sprintf(`; did you mean "%s"?`, strings.Join(near, `" or "`))
	}
	return "", fmt.Errorf("plugin %q was not found; looked for %s%s", plugin, strings.Join(tried, ", "), hint)
}

func isPath(plugin string) bool {
	return strings.Contains(plugin, "/") || runtime.GOOS == "windows" && strings.Contains(plugin, `\`)
}

func findPath(plugin, base string) (string, error) {
	path := filepath.FromSlash(plugin)
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("looking for the plugin at %s: %w", plugin, err)
	}
	why := unusable(path)
	if why == "" {
		return path, nil
	}
	if suffix != "" && filepath.Ext(path) == "" && unusable(path+suffix) == "" {
		return path + suffix, nil
	}
	hint := ""
	if near := name.Near(filepath.Base(path), entries(filepath.Dir(path), ""), 1); len(near) > 0 && near[0] != filepath.Base(path) {
		hint = fmt.Sprintf("; did you mean %q?", filepath.Join(filepath.Dir(path), near[0]))
	}
	return "", fmt.Errorf("the plugin %s cannot be used: %s%s", path, why, hint)
}

// unusable returns why a file cannot be run as a plugin, "" when it can.
func unusable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case err != nil:
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return err.Error()
	case info.IsDir():
		return "it is a directory"
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return "it is not executable; run chmod +x on it"
	}
	return ""
}

// All yields the name and the absolute path of every plugin that Find would find by
// a name, in no order.
func (f Finder) All() iter.Seq2[string, string] {
	return func(yield func(name, path string) bool) {
		for _, n := range f.names() {
			if path, err := f.Find(n, ""); err == nil && !yield(n, path) {
				return
			}
		}
	}
}

// names returns the names of all plugins in f.Dirs, sorted.
func (f Finder) names() []string {
	var names []string
	for _, dir := range f.Dirs {
		if dir == "" {
			continue
		}
		for _, file := range entries(dir, Prefix) {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(file, Prefix), suffix))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// entries returns the files of a directory whose names begin with prefix; none when
// it cannot be read.
func entries(dir, prefix string) []string {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range found {
		if !e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			files = append(files, e.Name())
		}
	}
	return files
}
