// Package layer finds the configuration files that count when nobody names one:
// the user's, and the project's of a directory if a person trusts it. It reads
// each file once, and whether a file is trusted is asked about the very bytes
// that were read.
//
// It takes no file apart, changes none, and asks nobody.
package layer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/trust"
)

// FileName is what a project's file is called.
const FileName = "mcp.toml"

// Places are where to look.
type Places struct {
	// User is the absolute path of the user's file; "" is none.
	User string
	// Dir is where the search for the project's file begins, which goes on in its
	// parents; "" is no search.
	Dir string
	// Trust is the list of project files that a person accepted.
	Trust trust.Store
}

// State says whether a file counts.
type State string

const (
	Used       State = "used"
	Absent     State = "absent"
	Untrusted  State = "untrusted"  // nothing of it has any effect
	Unreadable State = "unreadable" // Err says why
)

// File is one file that was looked for.
type File struct {
	// Path is absolute. That of a project's file has no symbolic link in its
	// directory, so that a directory has one name; the file itself may be a link.
	Path  string
	Layer config.Layer
	State State
	// Data is the content of a file that is used or untrusted, and Sum what trust
	// is about.
	Data []byte
	Sum  trust.Sum
	// Changed: a person accepted this file with another content.
	Changed bool
	// Refused: a person was asked about this very content, and did not accept it.
	Refused bool
	// Err is why an unreadable file cannot be read, or why it is not known whether
	// an untrusted one is trusted.
	Err error
}

// Found is the outcome of a search.
type Found struct {
	// Files are the user's file, also when it is absent, and the project's if
	// there is one: lowest layer first.
	Files []*File

	store trust.Store
}

var (
	errRelative       = errors.New("its path is not absolute; is there a home directory?")
	errNothingToTrust = errors.New("there is no project file to trust")
)

// Find looks for the files. Whatever is wrong with one of them is in its File.
func Find(p Places) *Found {
	f := &Found{store: p.Trust}
	switch {
	case p.User == "":
	case !filepath.IsAbs(p.User): // it would be a project's
		f.Files = append(f.Files, &File{Path: p.User, Layer: config.User, State: Unreadable, Err: errRelative})
	default:
		f.Files = append(f.Files, trusted(p.User, config.User))
	}
	if p.Dir != "" {
		if file := project(p); file != nil {
			f.Files = append(f.Files, file)
		}
	}
	return f
}

// Sources are the files that count. A user's file that cannot be read is among
// them: it is a fault of the configuration. A project's is not.
func (f *Found) Sources() []config.Source {
	var out []config.Source
	for _, file := range f.Files {
		if file.State == Used || file.State == Unreadable && file.Layer == config.User {
			out = append(out, config.Source{File: file.Path, Layer: file.Layer, Data: file.Data, Err: file.Err})
		}
	}
	return out
}

// Ignored is the project's file when it is there and does not count, or nil.
func (f *Found) Ignored() *File {
	for _, file := range f.Files {
		if file.Layer == config.Project && file.State != Used {
			return file
		}
	}
	return nil
}

// Store is the list that the project's file was looked up in.
func (f *Found) Store() trust.Store { return f.store }

// Trust accepts the untrusted file, as it was read, for a person who has seen
// what is in it: it counts from now on.
func (f *Found) Trust(ctx context.Context) error {
	file := f.Ignored()
	if file == nil || file.State != Untrusted {
		return errNothingToTrust
	}
	if err := f.store.Accept(ctx, file.Path, file.Sum, time.Now()); err != nil {
		return err
	}
	file.State, file.Err = Used, nil
	return nil
}

// Named reads a file that a person named, by the path as given.
func Named(path string) *File { return trusted(path, config.Named) }

// Refuse remembers that a person does not accept the untrusted file as it was
// read, so that nobody asks again.
func (f *Found) Refuse(ctx context.Context) error {
	file := f.Ignored()
	if file == nil || file.State != Untrusted {
		return errNothingToTrust
	}
	file.Refused = true
	return f.store.Refuse(ctx, file.Path, file.Sum, time.Now())
}

func trusted(path string, layer config.Layer) *File {
	file := &File{Path: path, Layer: layer, State: Used}
	file.Data, file.Err = read(path)
	switch {
	case errors.Is(file.Err, fs.ErrNotExist):
		file.State, file.Err = Absent, nil
	case file.Err != nil:
		file.State = Unreadable
	}
	return file
}

// project is the file of the nearest directory that has one, or nil. The user's
// file is not its own project.
func project(p Places) *File {
	path := nearest(p.Dir)
	if path == "" || p.User != "" && sameFile(path, p.User) {
		return nil
	}
	return Project(path, p.Trust)
}

// Project reads one project's file and asks store about it.
func Project(path string, store trust.Store) *File {
	file := &File{Path: path, Layer: config.Project, State: Untrusted}
	if file.Data, file.Err = read(path); file.Err != nil {
		file.State = Unreadable
		return file
	}
	file.Sum = trust.SumOf(file.Data)
	entries, err := store.List()
	if err != nil {
		file.Err = err
		return file
	}
	for _, e := range entries {
		switch {
		case e.Path != path:
		case e.Sum != file.Sum:
			file.Changed = file.Changed || !e.Refused
		case e.Refused:
			file.Refused = true
		default:
			file.State = Used
		}
	}
	return file
}

// nearest is the absolute path of the mcp.toml in dir or the nearest directory
// above it, or "". A directory of that name is none.
func nearest(dir string) string {
	for dir := Canonical(dir); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, FileName)
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return path
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			// Something is there that cannot be looked at: a link in a circle, or one
			// into a closed directory. A file behind a closed directory is not there.
			if _, err := os.Lstat(path); err == nil {
				return path
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Canonical is dir, absolute and without symbolic links where they can be
// followed: the name that trust goes by.
func Canonical(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}
