package pins

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/rewrite"
	"github.com/collet-dev/collet/host/internal/versioned"
)

// version is that of the format. Another one may mean other things by the same
// words, so a file of another version is neither used nor written.
const version = 1

const (
	// maxFile bounds a file in bytes. A tool has about 100, and 100,000 are as many
	// as nobody has.
	maxFile = 16 << 20
	// lockWait bounds the wait for another process that writes the file, which takes
	// it milliseconds.
	lockWait = 5 * time.Second
	// attempts is how often a change is made again because somebody else, who does
	// not know the lock, changed the file meanwhile.
	attempts = 3
)

// about is the file's first member, for who opens it.
const about = "Written by collet: what plugin files and tool definitions were when they were accepted. Check it in. 'collet plugins trust' accepts changes, 'collet plugins lock --check' shows them."

// document is the file. Members are in the order in which they are written; of
// maps, encoding/json writes the keys sorted, so that the same pins are the same
// bytes.
type document struct {
	About   string            `json:"about,omitempty"`
	Version int               `json:"version"`
	Plugins map[string]Plugin `json:"plugins"`
	Servers map[string]Server `json:"servers"`
}

// File is the mcp.lock of one mcp.toml. Processes may use it at once.
type File struct {
	// Path is beside the mcp.toml: its name with .lock in the place of .toml.
	Path string
	// Fallback takes what cannot be written to Path.
	Fallback string
	// Guard carries the lock that processes take before they write either. It is not
	// beside Path, which is a directory of somebody's sources.
	Guard string
}

// FileOf is the file for the mcp.toml at config, absolute, with what does not belong
// beside it in state.
func FileOf(config, state string) File {
	name := strings.TrimSuffix(filepath.Base(config), ".toml") + ".lock"
	sum := sha256.Sum256([]byte(config))
	own := filepath.Join(state, "pins", hex.EncodeToString(sum[:8])+"-"+name)
	return File{Path: filepath.Join(filepath.Dir(config), name), Fallback: own, Guard: own + ".guard"}
}

// Read returns what counts: of files that are there. A file that cannot be used is
// an error, never the same as none.
func (f File) Read() (Locks, error) {
	var all Locks
	for _, path := range []string{f.Path, f.Fallback} {
		_, l, err := read(path)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func read(path string) ([]byte, *Lock, error) {
	data, err := readBytes(path)
	if err != nil {
		return nil, nil, err
	}
	l, err := readLock(path, data)
	return data, l, err
}

func readBytes(path string) ([]byte, error) {
	data, err := readFile(path)
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	if err != nil {
		return nil, &UnusableError{path, err}
	}
	return data, nil
}

// readLock is what the bytes of a file say; nil is a file that there is not.
func readLock(path string, data []byte) (*Lock, error) {
	if data == nil {
		return &Lock{}, nil
	}
	l, err := parse(data)
	if err != nil {
		return nil, &UnusableError{path, err}
	}
	return l, nil
}

// UnusableError is an mcp.lock that can be neither read nor written.
type UnusableError struct {
	Path string
	Err  error
}

// Error says why, and what to do.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("%s cannot be used: %v; repair it, or move it away to pin everything anew", e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *UnusableError) Unwrap() error { return e.Err }

// readFile is nil when there is no file. One that is no regular file, which a
// stranger's checkout may have, is never opened: a pipe would be waited for.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	return rewrite.Read(path, maxFile)
}

// parse reads a file, which may be hostile, or hand-merged.
func parse(data []byte) (*Lock, error) {
	var doc document
	if err := versioned.Read(data, version, &doc); err != nil {
		return nil, err
	}
	for key, p := range doc.Plugins {
		for platform, sum := range p.SHA256 {
			if !isDigest(sum) {
				return nil, fmt.Errorf("it is damaged: plugins.%s has no SHA-256 for %s", key, platform)
			}
		}
	}
	for name, s := range doc.Servers {
		for tool, sum := range s.Tools {
			if !isDigest(sum) {
				return nil, fmt.Errorf("it is damaged: servers.%s has no SHA-256 for the tool %q", name, tool)
			}
		}
	}
	return &Lock{Plugins: doc.Plugins, Servers: doc.Servers}, nil
}

func isDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

func encode(l *Lock) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(document{About: about, Version: version, Plugins: l.Plugins, Servers: l.Servers})
	return b.Bytes(), err
}

// Change has f change what the file says and writes it, all of it or nothing, while
// no other process does. f is called with what is in the file that is written, and
// with all that counts; it may be called again. A file whose directory cannot be
// written to stays as it is, and the fallback is changed.
func (f File) Change(ctx context.Context, change func(own *Lock, all Locks)) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(f.Guard), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	unlock, err := lockfile.Lock(ctx, f.Guard)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	defer unlock()
	err = f.change(f.Path, change)
	if err == nil || !notWritable(err) {
		return err
	}
	if second := f.change(f.Fallback, change); second != nil {
		return errors.Join(err, second)
	}
	return nil
}

func (f File) change(path string, change func(*Lock, Locks)) error {
	for attempt := 1; ; attempt++ {
		all, err := f.Read()
		if err != nil {
			return err
		}
		before, own, err := read(path)
		if err != nil {
			return err
		}
		own = own.clone()
		change(own, all)
		after, err := encode(own)
		if err != nil {
			return err
		}
		if len(after) > maxFile {
			return fmt.Errorf("write %s: it would be larger than %d bytes", path, maxFile)
		}
		if bytes.Equal(before, after) {
			return nil
		}
		err = rewrite.File(path, before, after)
		if !errors.Is(err, rewrite.ErrChanged) || attempt == attempts {
			return err
		}
	}
}
