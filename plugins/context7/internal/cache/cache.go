// Package cache keeps answers of an API in a directory for a while. A file that
// cannot be read or written is a miss, never an error: the API is still there.
// It knows nothing of what it keeps.
package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxBytes bounds the whole directory; the oldest answers make room.
	maxBytes = 64 << 20
	// pruneEvery is how many answers are kept between two looks at the directory.
	pruneEvery = 64
	// suffix marks the files that are ours to remove.
	suffix = ".answer"
)

// Dir is a directory of answers. A nil *Dir keeps nothing.
type Dir struct {
	path string
	ttl  time.Duration
	now  func() time.Time

	mu   sync.Mutex
	kept int // since the last look
}

// Open makes the directory, for its owner alone, and removes what is too old.
func Open(path string, ttl time.Duration) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of cached answers: %w", err)
	}
	d := &Dir{path: path, ttl: ttl, now: time.Now}
	d.prune()
	return d, nil
}

// Get returns what was kept under the key, unless it is too old.
func (d *Dir) Get(key string) ([]byte, bool) {
	if d == nil {
		return nil, false
	}
	path := d.file(key)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || d.old(info) {
		return nil, false
	}
	body, err := os.ReadFile(path)
	return body, err == nil
}

// Put keeps the answer under the key. Readers see all of it or nothing.
func (d *Dir) Put(key string, answer []byte) {
	if d == nil {
		return
	}
	f, err := os.CreateTemp(d.path, "new-*"+suffix) // readable by its owner alone
	if err != nil {
		return
	}
	_, err = f.Write(answer)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), d.file(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	d.mu.Lock()
	d.kept++
	due := d.kept >= pruneEvery
	if due {
		d.kept = 0
	}
	d.mu.Unlock()
	if due {
		d.prune()
	}
}

func (d *Dir) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(d.path, hex.EncodeToString(sum[:])+suffix)
}

// old also holds for what comes from the future: a clock was wrong once.
func (d *Dir) old(info fs.FileInfo) bool {
	age := d.now().Sub(info.ModTime())
	return age > d.ttl || age < -time.Minute
}

// prune removes what is too old and, from the oldest on, what is too much.
func (d *Dir) prune() {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return
	}
	var live []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		if d.old(info) {
			d.remove(info)
			continue
		}
		live = append(live, info)
	}
	slices.SortFunc(live, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var size int64
	for _, info := range live {
		if size += info.Size(); size > maxBytes {
			d.remove(info)
		}
	}
}

func (d *Dir) remove(info fs.FileInfo) { _ = os.Remove(filepath.Join(d.path, info.Name())) }
