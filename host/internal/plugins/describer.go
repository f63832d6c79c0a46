package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/sharedfile"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// Describer tells what plugin binaries say about themselves, and runs each binary
// only once for it: a description follows from the binary alone, so it is kept in
// CacheDir under the binary's SHA-256. It is safe for concurrent use, and hosts
// may share a CacheDir.
type Describer struct {
	// CacheDir keeps descriptions; it is made when needed. Empty: nothing is kept. A
	// cache that cannot be read or written costs time, and nothing else.
	CacheDir string
	// Run asks the binary. Default: launch.Describe.
	Run func(ctx context.Context, path string, env []string) (*describe.Description, error)

	mu   sync.Mutex
	busy map[string]chan struct{} // by path: holds an element while somebody describes it
	last map[string]told          // by path: what needs no look into CacheDir any more
}

// told is what a file said.
type told struct {
	by   identity
	sum  string
	desc *describe.Description // never changed
}

// Describe returns what the binary at path says about itself. It runs it with env,
// the complete environment, unless the answer is cached. Several calls for one path
// run it once. Errors are *failure.Failure: those of Run, ConnectionRefused for a
// file that cannot be read, Canceled or Timeout when ctx ends while waiting.
func (d *Describer) Describe(ctx context.Context, path string, env []string) (*describe.Description, error) {
	turn := d.turn(path)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		f := failure.Classify(ctx.Err())
		f.Delivery, f.Origin, f.Target = failure.NotSent, failure.OriginHost, path
		return nil, f
	}
	if d.CacheDir == "" {
		return d.run(ctx, path, env)
	}
	c := cache{filepath.Join(d.CacheDir, "describe")}
	before, err := identify(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if last, ok := d.remembered(before); ok {
		return last.desc, nil
	}
	sum, ok := c.sum(before)
	if !ok {
		if sum, err = hash(path); err != nil {
			return nil, unreadable(path, err)
		}
	}
	desc, known := c.description(sum)
	if !known {
		if desc, err = d.run(ctx, path, env); err != nil {
			return nil, err
		}
	}
	// A file that was replaced meanwhile may have been hashed as one and run as the
	// other.
	if after, err := identify(path); err == nil && after == before {
		if !known {
			c.keepDescription(sum, desc)
		}
		if !ok {
			c.keepSum(before, sum)
		}
		d.remember(before, sum, desc)
	}
	return desc, nil
}

// Sum returns the SHA-256 of the binary at path, in hex, and reads the binary only
// when it may not be the one whose sum is known. It runs nothing.
func (d *Describer) Sum(path string) (string, error) {
	file, err := identify(path)
	if err != nil {
		return "", err
	}
	if last, ok := d.remembered(file); ok {
		return last.sum, nil
	}
	if d.CacheDir == "" {
		return hash(path)
	}
	c := cache{filepath.Join(d.CacheDir, "describe")}
	sum, ok := c.sum(file)
	if !ok {
		if sum, err = hash(path); err != nil {
			return "", err
		}
		if after, err := identify(path); err == nil && after == file {
			c.keepSum(file, sum)
		}
	}
	return sum, nil
}

// Known returns the SHA-256 of the binary at path, as Sum, and what it said about
// itself if that is known without running it, else nil.
func (d *Describer) Known(path string) (string, *describe.Description, error) {
	file, err := identify(path)
	if err != nil {
		return "", nil, err
	}
	if last, ok := d.remembered(file); ok {
		return last.sum, last.desc, nil
	}
	sum, err := d.Sum(path)
	if err != nil || d.CacheDir == "" {
		return sum, nil, err
	}
	desc, ok := cache{filepath.Join(d.CacheDir, "describe")}.description(sum)
	if !ok {
		return sum, nil, nil
	}
	d.remember(file, sum, desc)
	return sum, desc, nil
}

func (d *Describer) remembered(file identity) (told, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.last[file.Path]
	return t, t.desc != nil && t.by == file
}

func (d *Describer) remember(file identity, sum string, desc *describe.Description) {
	if !file.settled() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last = map[string]told{}
	}
	d.last[file.Path] = told{file, sum, desc}
}

func (d *Describer) turn(path string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy == nil {
		d.busy = map[string]chan struct{}{}
	}
	if d.busy[path] == nil {
		d.busy[path] = make(chan struct{}, 1)
	}
	return d.busy[path]
}

func (d *Describer) run(ctx context.Context, path string, env []string) (*describe.Description, error) {
	if d.Run != nil {
		return d.Run(ctx, path, env)
	}
	return launch.Describe(ctx, path, env)
}

func unreadable(path string, err error) error {
	f := failure.New(failure.ConnectionRefused, failure.NotSent, "cannot read the plugin: %w", err)
	f.Origin, f.Target = failure.OriginHost, path
	return f
}

// identity is how a file is recognised without reading it.
type identity struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	Time  int64  `json:"time"` // of the last change, nanoseconds since 1970
	Inode uint64 `json:"inode"`
}

func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	return identity{Path: path, Size: info.Size(), Time: info.ModTime().UnixNano(), Inode: inode(info)}, nil
}

func hash(path string) (string, error) {
	file, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// settleTime is how old a file's last change has to be before its time tells a
// later change apart: the coarsest clocks of file systems tick every two seconds.
const settleTime = 2 * time.Second

func (i identity) settled() bool { return time.Since(time.Unix(0, i.Time)) > settleTime }

// maxEntry is the largest file of the cache that is read, in bytes: what a plugin
// may print, and as much again for escapes.
const maxEntry = 2 << 20

// cache is a directory of two kinds of files: SHA256.json is the description of the
// binary with that hash; file-HASH-OF-PATH.json remembers a binary's hash by path,
// size, time and inode, since hashing 20 MB at every start of the CLI is felt.
// Whoever can change a binary and put all four back can replace the cache as well,
// and gets no more than an outdated description: what may be executed is decided by
// pins, which hash what is executed.
type cache struct{ dir string }

type sumEntry struct {
	File   identity `json:"file"`
	SHA256 string   `json:"sha256"`
}

func (c cache) sumPath(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(c.dir, "file-"+hex.EncodeToString(sum[:16])+".json")
}

func (c cache) sum(file identity) (string, bool) {
	var e sumEntry
	if !read(c.sumPath(file.Path), &e) || e.File != file {
		return "", false
	}
	if raw, err := hex.DecodeString(e.SHA256); err != nil || len(raw) != sha256.Size {
		return "", false
	}
	return e.SHA256, true
}

func (c cache) keepSum(file identity, sum string) {
	if file.settled() {
		_ = c.write(c.sumPath(file.Path), sumEntry{file, sum})
	}
}

func (c cache) description(sum string) (*describe.Description, bool) {
	var d describe.Description
	if !read(filepath.Join(c.dir, sum+".json"), &d) || d.Name == "" {
		return nil, false
	}
	return &d, true
}

func (c cache) keepDescription(sum string, d *describe.Description) {
	_ = c.write(filepath.Join(c.dir, sum+".json"), d)
}

// read reports whether a file of the cache could be read into v. One that is not
// there, too large or damaged is a miss.
func read(path string, v any) bool {
	file, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxEntry))
	return err == nil && json.Unmarshal(data, v) == nil
}

// write replaces a file of the cache as a whole, or leaves it as it is. Its errors
// are dropped by those who keep something: the next start is slower, no more.
func (c cache) write(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, "new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails once it is renamed
	if _, err := file.Write(data); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return sharedfile.Rename(os.Rename, file.Name(), path)
}
