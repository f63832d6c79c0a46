// Package tree lists the files of a directory that can be pushed as text, and says
// of the others why not. It never leaves its root: symbolic links are not followed.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/collet-dev/collet/plugins/github/internal/ignore"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// MaxFile is the largest file that is read, in bytes: one has to fit into one push.
	MaxFile = 3 << 20
	// maxFiles bounds what one call pushes: a wrong directory should not take hours.
	maxFiles = 10000
	// maxIgnore bounds a .gitignore, in bytes.
	maxIgnore = 1 << 20
)

// Skipped is a file that is not pushed.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Tree is a directory as it was listed.
type Tree struct {
	// Files are the paths of the files to push, below the directory, with slashes and
	// sorted. That they are text is only known once they are read.
	Files   []string
	Skipped []Skipped
	// Ignored counts what .gitignore files leave out, a directory as one.
	Ignored int

	root       *os.Root
	dir        string
	executable map[string]bool // of those that were read
}

// Open lists dir, a path below root. Close ends it.
func Open(ctx context.Context, root, dir string) (*Tree, error) {
	dir = filepath.ToSlash(filepath.Clean(dir))
	if !filepath.IsLocal(dir) {
		return nil, refuse("%s is outside of the directory that may be read, %s", dir, root)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, refuse("open the directory that may be read: %w", err)
	}
	t := &Tree{root: r, dir: dir, executable: map[string]bool{}}
	if err := t.list(ctx); err != nil {
		_ = r.Close()
		return nil, err
	}
	return t, nil
}

// Close lets go of the directory.
func (t *Tree) Close() { _ = t.root.Close() }

func (t *Tree) list(ctx context.Context) error {
	level, err := t.enter()
	if err != nil {
		return err
	}
	return t.walk(ctx, t.dir, level)
}

// enter goes down to the directory: none of the way may be a link, and the rules on
// the way count.
func (t *Tree) enter() (*ignore.Level, error) {
	var level *ignore.Level
	if t.dir == "." {
		return level, nil
	}
	at := "."
	for part := range strings.SplitSeq(t.dir, "/") {
		var err error
		if level, err = t.rules(level, at); err != nil {
			return nil, err
		}
		at = path.Join(at, part)
		info, err := t.root.Lstat(at)
		switch {
		case err != nil:
			return nil, refuse("%w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, refuse("%s is a symbolic link; name what it leads to", at)
		case !info.IsDir():
			return nil, refuse("%s is no directory", at)
		case isGit(part):
			return nil, refuse("%s is git's own", at)
		case level.Ignored(at, true):
			return nil, refuse("a .gitignore leaves %s out; to push it nevertheless make it the root in the config of this server", at)
		}
	}
	return level, nil
}

// rules adds the .gitignore of a directory, if it has one. Where one cannot be read,
// nobody knows what must not leave this machine. Links do not count, as for git.
func (t *Tree) rules(level *ignore.Level, dir string) (*ignore.Level, error) {
	name := path.Join(dir, ".gitignore")
	info, err := t.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return level, nil
	case err == nil && !info.Mode().IsRegular():
		return level, nil
	case err == nil && info.Size() > maxIgnore:
		return nil, refuse("%s is too large: %d bytes, at most %d are read", name, info.Size(), maxIgnore)
	}
	data, err := t.root.ReadFile(name)
	if err != nil {
		return nil, refuse("what %s leaves out cannot be read: %s", name, reason(err))
	}
	return level.Below(dir, data), nil
}

func (t *Tree) walk(ctx context.Context, dir string, level *ignore.Level) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	entries, err := fs.ReadDir(t.root.FS(), dir) // sorted
	if err != nil {
		t.skip(dir, "it cannot be read: "+reason(err))
		return nil
	}
	if level, err = t.rules(level, dir); err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case isGit(e.Name()):
		case level.Ignored(name, e.IsDir()):
			t.Ignored++
		case !utf8.ValidString(e.Name()):
			t.skip(name, "its name is not UTF-8")
		case e.IsDir():
			if err := t.walk(ctx, name, level); err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			t.skip(name, "a symbolic link")
		case !e.Type().IsRegular():
			t.skip(name, "no regular file")
		case len(t.Files) == maxFiles:
			return refuse("%s has more than %d files; push a part of it, or leave files out with a .gitignore", t.dir, maxFiles)
		default:
			t.Files = append(t.Files, t.below(name))
		}
	}
	return nil
}

// Read returns a file of Files, or false when it turned out not to be one to push.
func (t *Tree) Read(file string) (string, bool) {
	name := path.Join(t.dir, file)
	info, err := t.root.Lstat(name)
	switch {
	case err != nil:
		t.skip(name, "it cannot be read: "+reason(err))
		return "", false
	case !info.Mode().IsRegular():
		t.skip(name, "no regular file any more")
		return "", false
	case info.Size() > MaxFile:
		t.skip(name, fmt.Sprintf("too large: %d bytes, at most %d can be pushed as one file", info.Size(), MaxFile))
		return "", false
	}
	data, err := t.root.ReadFile(name)
	switch {
	case err != nil:
		t.skip(name, "it cannot be read: "+reason(err))
	case len(data) > MaxFile:
		t.skip(name, "it grew too large")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		t.skip(name, "binary: only text can be pushed")
	default:
		if info.Mode()&0o111 != 0 {
			t.executable[file] = true
		}
		return string(data), true
	}
	return "", false
}

// Executable returns those of the files that were read that somebody may execute,
// sorted.
func (t *Tree) Executable() []string { return slices.Sorted(maps.Keys(t.executable)) }

func (t *Tree) skip(name, why string) {
	t.Skipped = append(t.Skipped, Skipped{strings.ToValidUTF8(t.below(name), "\uFFFD"), why})
}

// Leave takes a file out that was read but cannot be pushed.
func (t *Tree) Leave(file, why string) { t.skip(path.Join(t.dir, file), why) }

func (t *Tree) below(name string) string {
	if t.dir == "." {
		return name
	}
	return strings.TrimPrefix(name, t.dir+"/")
}

// isGit says whether a name is git's own, which no tree may hold.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// reason is an error without the path that it repeats.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func refuse(format string, args ...any) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, format, args...)
	f.Origin = failure.OriginAdapter
	f.Problems = []failure.Problem{{Path: "/dir", Rule: "directory", Message: f.Message}}
	return f
}
