// Package consent keeps what people answered when they were asked whether a call
// may be made: one JSON line for each answer, in one file of mode 0600 that only
// grows until it is too large. Processes may use it at once. From the lines follows
// which consents stand: those for all calls of a tool, as it was then, by one
// principal.
//
// It asks nobody, knows no configuration and decides on no call. A line that it
// cannot read gives no consent.
package consent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/sharedfile"
	"github.com/collet-dev/collet/host/internal/statedir"
)

// Decision is what a record tells of.
type Decision string

// The decisions.
const (
	Once    Decision = "once"    // one call may be made
	Session Decision = "session" // and all others of the tool in that session
	Always  Decision = "always"  // all calls of the tool may be made
	Refused Decision = "refused" // the call may not be made
	Revoked Decision = "revoked" // what Pattern names stands no longer
)

// Key is what a consent is for. Another principal, another entry of the server in
// mcp.toml or another definition of the tool need a consent of their own.
type Key struct {
	Server     string `json:"server,omitempty"`
	Tool       string `json:"tool,omitempty"`       // without its server
	Entry      string `json:"entry,omitempty"`      // digest of how the server is reached
	Definition string `json:"definition,omitempty"` // digest of the tool's definition, in hex
	Principal  string `json:"principal,omitempty"`  // whose credential the call shows
}

// Record is one line.
type Record struct {
	Time     time.Time `json:"time"`
	Decision Decision  `json:"decision"`
	Key
	Session string `json:"session,omitempty"` // in which it was answered
	Caller  string `json:"caller,omitempty"`  // what kind of caller made the call
	By      string `json:"by,omitempty"`      // how it was answered: "terminal", "--yes", "elicitation", "program"
	Call    string `json:"call,omitempty"`    // the ID that the audit log has too

	ArgumentsSum  string          `json:"arguments_sha256,omitempty"` // of the arguments that were shown
	ArgumentBytes int             `json:"argument_bytes,omitempty"`
	Arguments     json.RawMessage `json:"arguments,omitempty"` // where the adapter had somebody asked, or the configuration wants them kept
	Shown         string          `json:"shown,omitempty"`     // in their place where they are too long: what was shown of them

	Pattern string `json:"pattern,omitempty"` // of a revocation: SERVERS or SERVERS/TOOLS, "" is everything
}

// Store is the file of records, in a directory of its own.
type Store struct {
	Dir string // absolute; made with mode 0700 when it is missing
	Max int64  // size in bytes from which old records make room; default 4 MiB
}

const (
	fileName = "consents.jsonl"
	newName  = "consents.new"
	lockName = "lock"

	defaultMax = 4 << 20 // about 10,000 answers
	// maxLine bounds a record. A tool's name may be as long as its server likes.
	maxLine = 256 << 10
	// kept is how many of the latest records stay when the file has become too large,
	// beside the consents that stand.
	kept = 1000
	// lockWait bounds the wait for another process that writes, which takes it
	// milliseconds.
	lockWait = 5 * time.Second
)

// Stands reports whether a consent for key stands: for good, or for the session if
// one is named.
func (s *Store) Stands(key Key, session string) (bool, error) {
	// Most lines are of other tools, and need not be read for this.
	records, err := s.read(func(line []byte) bool {
		return bytes.Contains(line, []byte(key.Definition)) || bytes.Contains(line, []byte(Revoked))
	})
	if err != nil {
		return false, err
	}
	stands := false
	for _, r := range records {
		switch {
		case r.Decision == Revoked:
			stands = stands && !Match(r.Pattern, key.Server, key.Tool)
		case r.Key == key && (r.Decision == Always || r.Decision == Session && session != "" && r.Session == session):
			stands = true
		}
	}
	return stands, nil
}

// Match reports whether a pattern names the tool: two globs, before the first slash
// over servers, after it over their tools. "" names everything.
func Match(pattern, server, tool string) bool {
	servers, tools, said := strings.Cut(pattern, "/")
	return (servers == "" && !said || name.Match(servers, server)) && (!said || name.Match(tools, tool))
}

// Records are all records, oldest first.
func (s *Store) Records() ([]Record, error) {
	return s.read(func([]byte) bool { return true })
}

// Standing are the records of the consents for good that stand, oldest first.
func (s *Store) Standing() ([]Record, error) {
	records, err := s.Records()
	return standing(records), err
}

func standing(records []Record) (out []Record) {
	for _, r := range records {
		switch r.Decision {
		case Revoked:
			out = slices.DeleteFunc(out, func(o Record) bool { return Match(r.Pattern, o.Server, o.Tool) })
		case Always:
			out = slices.DeleteFunc(out, func(o Record) bool { return o.Key == r.Key })
			out = append(out, r)
		}
	}
	return out
}

// Add appends a record.
func (s *Store) Add(ctx context.Context, r *Record) error {
	return s.change(ctx, func(root *os.Root) error { return s.append(root, r) })
}

// Revoke ends every consent for the tools that pattern names, and returns the records
// of those that stood for good. Those for sessions end too.
func (s *Store) Revoke(ctx context.Context, pattern string, now time.Time) (ended []Record, err error) {
	if !utf8.ValidString(pattern) { // kept as another one, it would end other consents
		return nil, fmt.Errorf("revoke %q: the pattern is not UTF-8", pattern)
	}
	err = s.change(ctx, func(root *os.Root) error {
		all, err := s.Standing()
		if err != nil {
			return err
		}
		for _, r := range all {
			if Match(pattern, r.Server, r.Tool) {
				ended = append(ended, r)
			}
		}
		return s.append(root, &Record{Time: now, Decision: Revoked, Pattern: pattern})
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}

// change runs f while no other process changes the file.
func (s *Store) change(ctx context.Context, f func(*os.Root) error) error {
	root, err := statedir.Open(s.Dir, true)
	if err != nil {
		return s.fault(err)
	}
	defer root.Close()
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := lockfile.Lock(ctx, filepath.Join(s.Dir, lockName))
	if err != nil {
		return s.fault(err)
	}
	defer unlock()
	if err := f(root); err != nil {
		return s.fault(err)
	}
	return nil
}

func (s *Store) fault(err error) error {
	return fmt.Errorf("keep the record of consents in %s: %w", s.Dir, err)
}

// append adds one line, whole: behind one that a crash left unfinished it begins a
// new one.
func (s *Store) append(root *os.Root, r *Record) (err error) {
	line, err := encode(r)
	if err != nil {
		return err
	}
	file, err := regular.In(root, fileName, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); !errors.Is(closed, os.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if size := info.Size() + int64(len(line)); size > s.max() {
		// On Windows a file that is open cannot be replaced. When others read it, the next
		// time will do.
		file.Close()
		if err := s.rewrite(root, r); err == nil || size > 2*s.max() {
			return err
		}
		again, err := root.OpenFile(fileName, os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		file = again
	}
	if _, err := file.Write(line); err != nil {
		return err
	}
	return file.Sync()
}

func (s *Store) max() int64 {
	if s.Max > 0 {
		return s.Max
	}
	return defaultMax
}

// rewrite replaces the file by one with the consents that stand, the latest records
// and r.
func (s *Store) rewrite(root *os.Root, r *Record) error {
	records, err := s.Records()
	if err != nil {
		return err
	}
	records = append(records, *r)
	stand := standing(records)
	latest := records[max(0, len(records)-kept):]
	size := int64(0)
	for i, one := range slices.Backward(latest) { // at most half of the file, so that it is not full at once
		line, err := encode(&one)
		if err != nil {
			return err
		}
		if size += int64(len(line)); size > s.max()/2 && i < len(latest)-1 {
			latest = latest[i+1:]
			break
		}
	}
	var b bytes.Buffer
	for _, one := range records[:len(records)-len(latest)] {
		if !slices.ContainsFunc(stand, func(o Record) bool { return o.Key == one.Key && o.Time.Equal(one.Time) && o.Decision == one.Decision }) {
			continue
		}
		line, err := encode(&one)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	for _, one := range latest {
		line, err := encode(&one)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	file, err := regular.In(root, newName, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b.Bytes())
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, root.Remove(newName))
	}
	if err := sharedfile.Rename(root.Rename, newName, fileName); err != nil {
		return errors.Join(err, root.Remove(newName))
	}
	return nil
}

func encode(r *Record) ([]byte, error) {
	one := *r
	one.Time = one.Time.UTC()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(one); err != nil {
		return nil, err
	}
	if b.Len() > maxLine {
		return nil, fmt.Errorf("the record has %d bytes, at most %d are kept", b.Len(), maxLine)
	}
	return b.Bytes(), nil
}

// read returns the records of the lines that want wants. No file is no records.
func (s *Store) read(want func(line []byte) bool) ([]Record, error) {
	root, err := statedir.Open(s.Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the record of consents in %s: %w", s.Dir, err)
	}
	defer root.Close()
	file, err := regular.In(root, fileName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the record of consents in %s: %w", s.Dir, err)
	}
	defer file.Close()
	limit := 2*s.max() + maxLine // consents that stand are kept however many they are
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d bytes; move %s away to begin anew", limit, fileName)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of consents in %s: %w", s.Dir, err)
	}
	var records []Record
	for line := range bytes.Lines(data) {
		var r Record
		if want(line) && json.Unmarshal(line, &r) == nil {
			records = append(records, r)
		}
	}
	return records, nil
}
