// Package tokenfile knows the bearer tokens that a file lists: Shared reads tokens
// that all may do the same, Scoped reads hashes of tokens with what each may use.
//
// A file is read again when it changed, with the next request. One that is missing,
// that others may read or that has a fault lets nobody in until it is repaired:
// what it said before might include a token that was just taken out. No token and
// no value of a file is ever part of an error or the log.
package tokenfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/front/guard"
)

const (
	mostBytes  = 1 << 20 // of a file
	mostTokens = 4096    // in a file; each is compared with every token that comes
)

// settled is how old a file's last change has to be for its time to tell a further
// one: file systems count in steps of up to two seconds.
const settled = 2 * time.Second

// File is one file of tokens, a guard.Authenticator.
type File struct {
	path  string
	parse func(text []byte) ([]entry, error)

	mu      sync.Mutex
	state   os.FileInfo // of what was read last; nil when it has to be read again
	text    []byte      // that entries and fault come from; nil for none
	entries []entry
	fault   error
	err     error // of the last answer; with one, entries do not count
}

// entry is a token by its hash, and whose it is.
type entry struct {
	hash      [sha256.Size]byte
	principal *guard.Principal
}

// Shared reads a file of tokens, one a line. Empty lines and those that begin with #
// do not count. All of them are the principal "shared", which may use everything;
// more than one is for the time in which clients are given a new one.
func Shared(path string) (*File, error) { return open(path, shared) }

// Scoped reads a TOML file with a table for each principal, "token:NAME":
//
//	[tokens.NAME]
//	sha256 = "..."                     # of the token, 64 hexadecimal digits; or an array of them
//	servers = ["github", "docs-*"]     # globs; ["*"] for all
//	tools = ["get_*", "docs-a/search"] # globs of tools, or of <server>/<tool>; default: all
//	exposure = "deferred"              # the most that is seen of a tool; default: as configured
//	expires = 2027-01-01T00:00:00Z     # default: never
func Scoped(path string) (*File, error) { return open(path, scoped) }

func open(path string, parse func([]byte) ([]entry, error)) (*File, error) {
	f := &File{path: path, parse: parse}
	_, err := f.current()
	return f, err
}

// Authenticate implements guard.Authenticator.
func (f *File) Authenticate(_ context.Context, token string) (*guard.Principal, error) {
	entries, err := f.current()
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(token))
	var p *guard.Principal
	for _, e := range entries { // all of them: time tells nothing of where a match is
		if subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1 {
			p = e.principal
		}
	}
	switch {
	case p == nil:
		return nil, guard.ErrUnknown
	case !p.Expires.IsZero() && !time.Now().Before(p.Expires):
		return nil, &guard.Refusal{Reason: guard.Expired, Message: "The token has expired; ask whoever gave it to you for a new one."}
	}
	return p, nil
}

// current returns what the file says now.
func (f *File) current() ([]entry, error) {
	state, err := os.Stat(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.state != nil && os.SameFile(state, f.state) &&
		state.Size() == f.state.Size() && state.Mode() == f.state.Mode() && state.ModTime().Equal(f.state.ModTime()) {
		return f.entries, f.err
	}
	f.state = nil
	if err == nil {
		now := time.Now()
		var text []byte
		text, state, err = read(f.path)
		if err == nil && (f.text == nil || !bytes.Equal(text, f.text)) {
			f.text = text
			f.entries, f.fault = f.parse(text)
			if f.fault == nil && len(f.entries) == 0 {
				f.fault = errors.New("has no token")
			}
		}
		if err == nil {
			err = f.fault
		}
		if state != nil && now.Sub(state.ModTime()) > settled {
			f.state = state
		}
	}
	if f.err = err; err != nil {
		f.err = fmt.Errorf("tokens of %s: %w", f.path, err)
	}
	return f.entries, f.err
}

// read returns the file's bytes and what it is, the latter also with some errors.
func read(path string) ([]byte, os.FileInfo, error) {
	if before, err := os.Stat(path); err != nil || !before.Mode().IsRegular() {
		return nil, nil, notRegular(err) // opening a pipe would wait
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	state, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := private(state); err != nil {
		return nil, state, err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > mostBytes {
		return nil, state, fmt.Errorf("the file is larger than %d bytes", mostBytes)
	}
	return append([]byte{}, bytes.TrimPrefix(text, []byte("\ufeff"))...), state, nil
}

func notRegular(err error) error {
	if err != nil {
		return err
	}
	return errors.New("it is not a regular file")
}

// shared parses a file of Shared.
func shared(text []byte) ([]entry, error) {
	everything := &guard.Principal{ID: "shared", Grants: []guard.Grant{guard.All}}
	var entries []entry
	n := 0
	for line := range bytes.Lines(text) {
		n++
		token := bytes.TrimSpace(line)
		switch {
		case len(token) == 0 || token[0] == '#':
			continue
		case !guard.CanBeSent(string(token)):
			return nil, fmt.Errorf("line %d: a token is made of visible ASCII characters without spaces, one token a line", n)
		case len(entries) == mostTokens:
			return nil, fmt.Errorf("line %d: there are more than %d tokens", n, mostTokens)
		}
		entries = append(entries, entry{sha256.Sum256(token), everything})
	}
	return entries, nil
}
