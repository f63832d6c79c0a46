package reload

import (
	"os"
	"path/filepath"
	"strings"
)

// mostLinks bounds the symbolic links on the way to a file, as kernels do.
const mostLinks = 40

// pointsOf are the paths at which something can happen that makes path another
// file: the file, the directory it is in (which on Windows does not tell itself
// that it was renamed), every symbolic link on the way, and the first thing on the
// way that is not there. None of them has a link before its last element, so that
// each is in the directory that it seems to be in.
func pointsOf(path string) (points []string) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil // the working directory is gone, and with it the file
	}
	dir, rest := split(abs)
	for links := 0; len(rest) > 0; {
		at := filepath.Join(dir, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return append(points, at, dir)
		case info.Mode()&os.ModeSymlink != 0:
			points = append(points, at)
			target, err := os.Readlink(at)
			if links++; err != nil || links > mostLinks {
				return points
			}
			var more []string
			if filepath.IsAbs(target) {
				dir, more = split(target)
			} else {
				more = elements(target)
			}
			rest = append(more, rest...)
		case len(rest) == 0:
			return append(points, at, dir)
		default:
			dir = at
		}
	}
	return points // it is the root, or a link to a directory
}

// split is the root of an absolute path and its elements.
func split(path string) (root string, rest []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), elements(path[len(volume):])
}

func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}
