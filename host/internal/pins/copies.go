package pins

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/statedir"
)

// Copies has plugin files executed from copies of its own, each in a directory
// named by its SHA-256, so that the bytes that were hashed are those that run: what
// happens to a plugin's own path between a look at it and its start, or at a later
// start, changes what is found to differ, and never what is executed. A file is read
// and hashed once, and then recognised by its identity.
//
// A script ("#!") is not copied, because it finds what it loads by its own place. It
// is hashed at every start, and its identity is compared once more when it runs; what
// it loads is not looked at.
type Copies struct {
	// Dir is made when it is needed. Nobody but the user may write to it.
	Dir string

	mu    sync.Mutex
	known map[string]index // by path
}

// Executable is a plugin file that was looked at.
type Executable struct {
	Path   string // where it was found
	SHA256 string
	Run    string // what to execute: the copy, or a script's own path
	Script bool

	at identity
}

// index is what is remembered of a path: what its file was, and its digest.
type index struct {
	File   identity `json:"file"`
	SHA256 string   `json:"sha256"`
}

// maxCopies is how many copies are kept. One that is not there is made again.
const maxCopies = 64

// copyMode is that of a copy: nobody writes to it, its owner included.
const copyMode = 0o500

// Of returns the executable at path, absolute, and makes its copy if there is none.
func (c *Copies) Of(ctx context.Context, path string) (*Executable, error) {
	x, file, err := c.look(path)
	if err != nil || x.Script {
		return x, err
	}
	root, err := statedir.Open(c.Dir, true)
	if err != nil {
		return nil, c.unkept(path, err)
	}
	defer root.Close()
	name := filepath.Base(path)
	if sum, ok := c.remembered(root, file); ok {
		if at := filepath.Join(sum, name); whole(root, at, file.Size) {
			x.SHA256, x.Run = sum, filepath.Join(c.Dir, at)
			return x, nil
		}
	}
	if x.SHA256, err = c.copy(ctx, root, path, name, file); err != nil {
		return nil, c.unkept(path, err)
	}
	x.Run = filepath.Join(c.Dir, x.SHA256, name)
	c.remember(root, file, x.SHA256)
	return x, nil
}

// unkept is why there is no copy, and what to do when the fault is not the file's own.
func (c *Copies) unkept(path string, err error) error {
	err = fmt.Errorf("keep a copy of %s in %s: %w", path, c.Dir, err)
	if about, ok := errors.AsType[*fs.PathError](err); ok && about.Path != path {
		return fmt.Errorf("%w; a plugin that does not lie beside collet is executed from a copy: make %s writable, with room in it, or set XDG_CACHE_HOME", err, c.Dir)
	}
	return err
}

// Sum returns the SHA-256 of the file at path, and makes no copy.
func (c *Copies) Sum(path string) (string, error) {
	x, file, err := c.look(path)
	if err != nil || x.Script {
		return x.sum(), err
	}
	if root, err := statedir.Open(c.Dir, false); err == nil {
		defer root.Close()
		if sum, ok := c.remembered(root, file); ok {
			return sum, nil
		}
	}
	return hashFile(path)
}

func (x *Executable) sum() string {
	if x == nil {
		return ""
	}
	return x.SHA256
}

// Changed reports whether the file at the executable's path has been replaced,
// written to or moved since it was looked at.
func (x *Executable) Changed() bool {
	now, err := identify(x.Path)
	return err != nil || now != x.at
}

// Swapped is why nobody can say what runs, although it was looked at: a script that
// changed since. Nil for a copy, which cannot change.
func (x *Executable) Swapped() error {
	if !x.Script || !x.Changed() {
		return nil
	}
	return fmt.Errorf("the plugin file %s changed while it was being started, so nothing says what has run; it was stopped", x.Path)
}

// look says what is at path. A script is hashed at once.
func (c *Copies) look(path string) (*Executable, identity, error) {
	at, err := identify(path)
	if err != nil {
		return nil, at, err
	}
	script, err := isScript(path)
	if err != nil {
		return nil, at, err
	}
	x := &Executable{Path: path, Script: script, at: at}
	if script {
		x.Run = path
		if x.SHA256, err = hashFile(path); err == nil && x.Changed() {
			err = errMeanwhile
		}
		if err != nil {
			return nil, at, err
		}
	}
	return x, at, nil
}

var errMeanwhile = errors.New("it is being written to; try again")

// copy makes the copy of a file, and returns the digest of what is in the copy.
func (c *Copies) copy(ctx context.Context, root *os.Root, path, name string, was identity) (sum string, err error) {
	from, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	part := ".part-" + strings.ToLower(rand.Text())
	defer func() {
		if err != nil {
			_ = root.Remove(part)
		}
	}()
	if sum, err = writeCopy(ctx, root, part, from); err != nil {
		return "", err
	}
	if now, err := identify(path); err != nil || now != was {
		return "", errMeanwhile // the copy may be half of the one and half of the other
	}
	if err := root.Mkdir(sum, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	at := filepath.Join(sum, name)
	if whole(root, at, was.Size) {
		// Perhaps it runs, and there are systems that let nothing take its place then.
		return sum, root.Remove(part)
	}
	if err := root.Rename(part, at); err != nil {
		return "", err
	}
	c.makeRoom(root, sum)
	return sum, nil
}

func writeCopy(ctx context.Context, root *os.Root, part string, from io.Reader) (string, error) {
	// A process that is forked while the copy is open for writing holds it open until
	// it executes something, and until then the copy cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, h), interruptible{ctx, from})
	// Without a sync a crash of the machine may leave the name and not the bytes.
	err = errors.Join(err, to.Sync(), to.Chmod(copyMode), to.Close())
	return hex.EncodeToString(h.Sum(nil)), err
}

// interruptible reads until ctx ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// whole reports whether there is a copy that nobody has written to.
func whole(root *os.Root, at string, size int64) bool {
	info, err := root.Lstat(at)
	return err == nil && info.Mode().IsRegular() && info.Size() == size && untouched(info.Mode())
}

// untouched reports whether a copy has the mode it was made with. What Windows keeps of
// it is that the file is only to be read.
func untouched(mode fs.FileMode) bool { return mode.Perm()&0o222 == 0 }

// makeRoom removes the copies that were made the longest ago. A process that runs
// one goes on; what is needed again is copied again.
func (c *Copies) makeRoom(root *os.Root, but string) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	all, _ := dir.ReadDir(-1)
	var oldest string
	var when time.Time
	n := 0
	for _, e := range all {
		info, err := e.Info()
		if err != nil || !isDigest(e.Name()) || e.Name() == but {
			continue
		}
		if n++; oldest == "" || info.ModTime().Before(when) {
			oldest, when = e.Name(), info.ModTime()
		}
	}
	if n >= maxCopies {
		_ = root.RemoveAll(oldest)
	}
}

// settleTime is how old a file's last change has to be before its times tell a later
// change apart: the coarsest clocks of file systems tick every two seconds.
var settleTime = 2 * time.Second // no constant for tests: nobody can make a file old

func (c *Copies) remembered(root *os.Root, file identity) (string, bool) {
	c.mu.Lock()
	known, ok := c.known[file.Path]
	c.mu.Unlock()
	if !ok {
		data, err := readIndex(root, indexName(file.Path))
		if err != nil || json.Unmarshal(data, &known) != nil || !isDigest(known.SHA256) {
			return "", false
		}
	}
	return known.SHA256, known.File == file
}

func readIndex(root *os.Root, name string) ([]byte, error) {
	file, err := regular.In(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxIndex))
}

// maxIndex is more than an index has, in bytes: a path and a few numbers.
const maxIndex = 64 << 10

func (c *Copies) remember(root *os.Root, file identity, sum string) {
	if !file.settled() {
		return
	}
	known := index{file, sum}
	c.mu.Lock()
	if c.known == nil {
		c.known = map[string]index{}
	}
	c.known[file.Path] = known
	c.mu.Unlock()
	data, err := json.Marshal(known)
	if err != nil {
		return
	}
	part := ".part-" + strings.ToLower(rand.Text())
	if root.WriteFile(part, data, 0o600) != nil || root.Rename(part, indexName(file.Path)) != nil {
		_ = root.Remove(part) // the next start reads the file again, no more
	}
}

func indexName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "file-" + hex.EncodeToString(sum[:16]) + ".json"
}

// identity is how a file is recognised without reading it. Changed is the time of
// the last change of anything about it, which the file's owner cannot set; 0 where
// the system has none.
type identity struct {
	Path     string `json:"path"`
	Device   uint64 `json:"device"`
	Inode    uint64 `json:"inode"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds since 1970
	Changed  int64  `json:"changed"`
}

// settled: its times tell a later change apart.
func (i identity) settled() bool {
	return time.Since(time.Unix(0, max(i.Modified, i.Changed))) >= settleTime
}

func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	if !info.Mode().IsRegular() {
		return identity{}, fmt.Errorf("%s is no regular file", path)
	}
	id := identity{Path: path, Size: info.Size(), Modified: info.ModTime().UnixNano()}
	id.Device, id.Inode, id.Changed = inode(info)
	return id, nil
}

func isScript(path string) (bool, error) {
	f, err := regular.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var magic [2]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && bytes.Equal(magic[:], []byte("#!")), nil
}

func hashFile(path string) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
