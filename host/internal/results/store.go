// Package results keeps results that were too large for who asked, and reads
// them back in parts. A result lies in one file of its own, as the JSON that was
// received and, where that is no part of it, as text; it belongs to the credential
// that made it, expires, and makes room for later ones.
//
// It never decides what is too large, never changes a result, and starts no
// goroutine. Several processes may use one directory.
package results

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/statedir"
	"github.com/collet-dev/collet/sdk/failure"
)

// Local is the owner of what was asked for without a credential: by the person
// whose machine it is, or by a client that this person's collet serves.
const Local = "local"

// The defaults of a Store.
const (
	MaxBytes = 512 << 20
	MaxCount = 1000
	Expiry   = 24 * time.Hour
)

// Store is a directory of results. Its fields are set once, before the first use.
type Store struct {
	Dir      string        // absolute; made with mode 0700 when it is missing
	MaxBytes int64         // of all files together; default MaxBytes
	MaxCount int           // of files; default MaxCount
	Expiry   time.Duration // from Put on; default Expiry
}

// lockWait bounds the wait for another process that makes room, which takes it
// milliseconds.
const lockWait = 5 * time.Second

// Put keeps a tool's result for its owner, any string that stands for one
// credential. The oldest results make room for it when the store is full. The
// handle cannot be guessed (130 random bits). When Put fails nothing is kept.
func (s *Store) Put(ctx context.Context, owner, tool string, raw []byte) (handle string, err error) {
	handle, err = s.put(ctx, owner, tool, raw)
	if err != nil {
		return "", fmt.Errorf("keep the result of %s in %s: %w", tool, s.Dir, err)
	}
	return handle, nil
}

func (s *Store) put(ctx context.Context, owner, tool string, raw []byte) (handle string, err error) {
	root, err := statedir.Open(s.Dir, true)
	if err != nil {
		return "", err
	}
	defer root.Close()
	doc := newDocument(tool, raw)
	if size := doc.size(); size > cmp.Or(s.MaxBytes, MaxBytes) {
		return "", fmt.Errorf("it needs %d bytes, and all results together may have %d", size, cmp.Or(s.MaxBytes, MaxBytes))
	}
	handle = strings.ToLower(rand.Text())
	name := fileName{ownerID(owner), handle}
	if err := doc.write(root, name.part()); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(name.part())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := lockfile.Lock(ctx, filepath.Join(s.Dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := s.makeRoom(root, name); err != nil {
		return "", err
	}
	return handle, root.Rename(name.part(), name.whole())
}

// notFound is the one answer for every handle that is none, so that nobody learns
// whether somebody else has it.
func notFound() error {
	return refused(failure.NotFound, "no result has this handle: it has expired or made room for others, or another credential made it")
}

func refused(class failure.Class, format string, args ...any) *failure.Failure {
	f := failure.New(class, failure.NotSent, format, args...)
	f.Origin = failure.OriginHost
	return f
}

// find opens the file of a handle. Without an owner anybody's counts.
func (s *Store) find(owner *string, handle string) (*os.File, error) {
	if !isHandle(handle) {
		return nil, notFound()
	}
	root, err := statedir.Open(s.Dir, false)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, regular.ErrOther):
		return nil, notFound()
	case err != nil:
		return nil, refused(failure.Unknown, "read a kept result in %s: %w", s.Dir, err)
	}
	defer root.Close()
	var name string
	if owner != nil {
		name = fileName{ownerID(*owner), handle}.whole()
	} else {
		entries, err := list(root)
		if err != nil {
			return nil, refused(failure.Unknown, "read a kept result in %s: %w", s.Dir, err)
		}
		for _, e := range entries {
			if e.handle == handle && !e.partial {
				name = e.whole()
			}
		}
		if name == "" {
			return nil, notFound()
		}
	}
	file, err := regular.In(root, name, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, regular.ErrOther):
		return nil, notFound()
	case err != nil:
		return nil, refused(failure.Unknown, "read a kept result in %s: %w", s.Dir, err)
	}
	info, err := file.Stat()
	if err != nil || time.Since(info.ModTime()) >= cmp.Or(s.Expiry, Expiry) {
		file.Close()
		return nil, notFound()
	}
	return file, nil
}

// fileName is OWNER-HANDLE.result, or OWNER-HANDLE.part while it is written. The
// owner is in the name, hashed, so that another's file is not even opened.
type fileName struct{ owner, handle string }

const (
	wholeSuffix = ".result"
	partSuffix  = ".part"
)

func (n fileName) whole() string { return n.owner + "-" + n.handle + wholeSuffix }
func (n fileName) part() string  { return n.owner + "-" + n.handle + partSuffix }

// parseName is the reverse. Other files in the directory are none of the store's.
func parseName(name string) (n fileName, partial, ok bool) {
	stem, partial := strings.CutSuffix(name, partSuffix)
	if !partial {
		if stem, ok = strings.CutSuffix(name, wholeSuffix); !ok {
			return fileName{}, false, false
		}
	}
	owner, handle, _ := strings.Cut(stem, "-")
	if len(owner) != ownerLength || !isHandle(handle) {
		return fileName{}, false, false
	}
	return fileName{owner, handle}, partial, true
}

const (
	ownerLength  = 32
	handleLength = 26 // of rand.Text
)

func ownerID(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:])[:ownerLength]
}

// isHandle says whether s can be a handle. Nothing else becomes part of a path.
func isHandle(s string) bool {
	return len(s) == handleLength && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
