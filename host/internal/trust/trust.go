// Package trust remembers which project files a person accepted: the absolute
// path of each and the SHA-256 of its content. A file that was changed or moved
// is not the accepted one. It remembers a refusal too, so that nobody is asked
// twice.
//
// It never reads a project file and asks nobody: whoever has read the bytes asks
// about those bytes.
package trust

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/sharedfile"
	"github.com/collet-dev/collet/host/internal/versioned"
)

// Sum is the SHA-256 of a file's content.
type Sum [sha256.Size]byte

// SumOf returns the sum of content.
func SumOf(content []byte) Sum { return sha256.Sum256(content) }

// Entry is what a person decided about one file.
type Entry struct {
	Path    string // absolute
	Sum     Sum
	When    time.Time // UTC, to the second
	Refused bool      // it is not to be trusted
}

// Store is the list of decisions, kept in one file of mode 0600. Processes
// may use it at once.
type Store struct {
	Path string
}

// version is that of the store's format. A store of another version is neither
// read nor written.
const version = 1

const (
	// maxStore bounds the store in bytes. An entry has about 200.
	maxStore = 4 << 20
	// lockWait bounds the wait for another process that writes the store, which
	// takes it milliseconds.
	lockWait = 5 * time.Second
)

// document is the store's file.
type document struct {
	Version int     `json:"version"`
	Files   []entry `json:"files"`
}

type entry struct {
	Path    string    `json:"path"`
	SHA256  string    `json:"sha256"`
	When    time.Time `json:"decided"`
	Refused bool      `json:"refused,omitempty"`
}

// Accepted reports whether a person accepted the file at path, absolute, with
// exactly this content. With an error, a store that cannot be used, it is false.
func (s Store) Accepted(path string, sum Sum) (bool, error) {
	entries, err := s.List()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Path == path && e.Sum == sum && !e.Refused }), nil
}

// List returns the decisions by path. No store is an empty list.
func (s Store) List() ([]Entry, error) {
	if !filepath.IsAbs(s.Path) {
		// Relative to a project it would be the project's own.
		return nil, fmt.Errorf("the list of trusted files %q has no absolute path; is there a home directory?", s.Path)
	}
	file, err := sharedfile.OpenFile(s.Path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	defer file.Close()
	if err := private(file); err != nil {
		return nil, s.unusable(err)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxStore+1))
	if err == nil && len(data) > maxStore {
		err = fmt.Errorf("it is larger than %d bytes", maxStore)
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	entries, err := parse(data)
	if err != nil {
		return nil, s.unusable(err)
	}
	return entries, nil
}

func (s Store) unusable(err error) error {
	return fmt.Errorf("the list of trusted files %s cannot be used: %w; no project file is trusted, and the list stays as it is, until it is repaired or moved away", s.Path, err)
}

func parse(data []byte) ([]Entry, error) {
	var doc document
	if err := versioned.Read(data, version, &doc); err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(doc.Files))
	for _, f := range doc.Files {
		e := Entry{Path: f.Path, When: f.When.UTC(), Refused: f.Refused}
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != len(e.Sum) || !filepath.IsAbs(f.Path) {
			return nil, fmt.Errorf("it is damaged: the entry of %q", f.Path)
		}
		copy(e.Sum[:], sum)
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

// Accept remembers the file at path, absolute, with this content in place of any
// it had before.
func (s Store) Accept(ctx context.Context, path string, sum Sum, now time.Time) error {
	return s.decide(ctx, Entry{Path: path, Sum: sum, When: now})
}

// Refuse remembers that the file at path, absolute, is not accepted with this
// content, in place of any it had before.
func (s Store) Refuse(ctx context.Context, path string, sum Sum, now time.Time) error {
	return s.decide(ctx, Entry{Path: path, Sum: sum, When: now, Refused: true})
}

func (s Store) decide(ctx context.Context, decision Entry) error {
	if !filepath.IsAbs(decision.Path) {
		return fmt.Errorf("trust %s: the path is not absolute", decision.Path)
	}
	decision.When = decision.When.UTC().Truncate(time.Second)
	return s.change(ctx, func(entries []Entry) []Entry {
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Path == decision.Path })
		return append(entries, decision)
	})
}

// Revoke forgets what was decided about the file at path, and reports whether
// anything was.
func (s Store) Revoke(ctx context.Context, path string) (was bool, err error) {
	err = s.change(ctx, func(entries []Entry) []Entry {
		rest := slices.DeleteFunc(entries, func(e Entry) bool { return e.Path == path })
		was = len(rest) < len(entries)
		return rest
	})
	return was && err == nil, err
}

// unwritten is why the store stays as it was.
func unwritten(dir string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("keep the list of trusted files: %w; make %s writable, with room in it, or set XDG_STATE_HOME", err, dir)
	}
	return fmt.Errorf("keep the list of trusted files: %w", err)
}

// change replaces the store as a whole, under a lock, by what f makes of it.
func (s Store) change(ctx context.Context, f func([]Entry) []Entry) error {
	dir := filepath.Dir(s.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unwritten(dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := lockfile.Lock(ctx, s.Path+".lock")
	if err != nil {
		return unwritten(dir, err)
	}
	defer unlock()
	entries, err := s.List()
	if err != nil {
		return err
	}
	doc := document{Version: version, Files: []entry{}}
	for _, e := range f(entries) {
		doc.Files = append(doc.Files, entry{e.Path, hex.EncodeToString(e.Sum[:]), e.When, e.Refused})
	}
	slices.SortFunc(doc.Files, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) })
	if err := replace(s.Path, doc); err != nil {
		return unwritten(dir, err)
	}
	return nil
}

// replace writes the file at path anew: whoever reads it sees all of it or what
// was there before.
func replace(path string, doc document) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".trust-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	enc := json.NewEncoder(file)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return sharedfile.Rename(os.Rename, file.Name(), path)
}
