package config

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxFile is the largest mcp.toml that is read, in bytes. Files of people are a
// few KiB; the bound keeps a wrong path (a log, a device) from filling memory.
const MaxFile = 1 << 20

// Layer says why a file counts, and so what its entries can do.
type Layer string

const (
	// Named is a file that a person or a program named. It stands for itself: of
	// several, a name may be used once.
	Named Layer = "named"
	// User is the file of the person who runs the host.
	User Layer = "user"
	// Project is the file of the directory that the host runs in. Its entries
	// replace or override those of the user's file.
	Project Layer = "project"
)

// Source is one file, read.
type Source struct {
	// File is the name that messages use, and relative paths start from its
	// directory.
	File  string
	Layer Layer
	Data  []byte
	// Err is why the file could not be read. It becomes a Problem, and the other
	// sources count.
	Err error
}

// ReadNamed reads files, each named by a person.
func ReadNamed(files []string) []Source {
	sources := make([]Source, 0, len(files))
	for _, file := range files {
		data, err := readFile(file)
		sources = append(sources, Source{File: file, Layer: Named, Data: data, Err: err})
	}
	return sources
}

// Parse is Merge of one named file whose bytes are at hand.
func Parse(file string, data []byte) *Config {
	return Merge([]Source{{File: file, Layer: Named, Data: data}})
}

// Skipped is why a file of these bytes is skipped whole; nil where its entries count, each
// for itself.
func Skipped(data []byte) error {
	text, err := plainText(Source{Data: data})
	if err != nil {
		return err
	}
	if _, _, err := scan(text); errors.Is(err, errTooDeep) {
		return err
	}
	if _, syntax := decode(text); syntax != nil {
		return syntax
	}
	return nil
}

// Merge reads sources, lowest layer first. Faults are in Problems: a file that is
// not TOML is skipped whole, a faulty server entry is left out, a faulty [host]
// key changes nothing. A [host] key of a later source wins.
//
// A server of a project replaces the user's of that name, or, when it holds
// nothing but enabled, disabled, exposure and tool_exposure, overrides just those. When it
// is faulty the user's does not count either: nobody can tell what was meant.
// Anywhere else a name may be used once.
func Merge(sources []Source) *Config {
	l := newLoader()
	for _, src := range sources {
		l.source(src)
	}
	return l.finish()
}

// readFile reads at most one byte more than MaxFile: enough to see that it is too large.
func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// Place is where something is said. The zero Place is nowhere: it is a default.
type Place struct {
	File  string
	Line  int
	Layer Layer
}

// String is "mcp.toml:12", or "" of the zero Place.
func (p Place) String() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

var errTooLarge = errors.New("is larger than 1 MiB, too large for an mcp.toml; the file is skipped")
