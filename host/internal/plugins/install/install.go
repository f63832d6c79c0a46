// Package install keeps plugins that a person had installed: it fetches them from a
// file, a directory, an address or a GitHub release, checks them against the
// checksums beside them, finds what attests them, and puts them where plugins are looked for, so that at every
// moment there is the version of before or the new one, whole.
//
// It executes nothing, pins nothing, and knows no configuration.
//
// A directory of installed plugins holds
//
//	store/SHA256/collet-plugin-NAME   each file that was installed, never written again
//	store/.part-*                     what is being fetched
//	collet-plugin-NAME                a link to the one in use; what is looked for
//	receipts/NAME.json                where it came from; written last
package install

import (
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
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/plugins/attestation"
	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// Receipt says where an installed plugin came from.
type Receipt struct {
	Name    string    `json:"name"`
	Source  string    `json:"source"`            // as it was named, without the version
	Version string    `json:"version,omitempty"` // the release's tag; empty where there is none
	SHA256  string    `json:"sha256"`            // of the plugin's file
	Checked string    `json:"checked"`           // what it was checked against; "" is nothing
	When    time.Time `json:"installed"`
	Pinned  bool      `json:"pinned,omitempty"` // upgrade leaves it alone
	// Attested is who signed that it was built where it is said to come from; nil is
	// nobody.
	Attested *attestation.Signer `json:"attested,omitempty"`
}

// Store is a directory of installed plugins. Processes may use it at once.
type Store struct {
	Dir string
	// step is called between the steps of an installation, in tests.
	step func(string)
}

const (
	prefix = "collet-plugin-"
	// What is not in its place yet, and is left over where a process was killed.
	partPrefix, linkPrefix = ".part-", ".link-"
	// lockWait bounds the wait for another process that installs, which holds the lock
	// while it puts a file in place, not while it fetches.
	lockWait = 30 * time.Second
	// maxReceipt bounds a receipt's file in bytes.
	maxReceipt = 64 << 10
)

var pluginName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`) })

// ErrNotInstalled is that there is no receipt for a plugin.
var ErrNotInstalled = errors.New("it is not installed")

// UnwritableError is that the directory of installed plugins cannot be written to.
type UnwritableError struct {
	Dir string
	Err error
}

// Error says why, and what to do.
func (e *UnwritableError) Error() string {
	return fmt.Sprintf("%v; make %s writable, with room for plugins, or set XDG_DATA_HOME to a directory that is", e.Err, e.Dir)
}

// Unwrap returns the reason.
func (e *UnwritableError) Unwrap() error { return e.Err }

// explain makes an error about a path in the directory, or one above it, an
// *UnwritableError.
func (s Store) explain(err error) error {
	about, ok := errors.AsType[*fs.PathError](err)
	const slash = string(filepath.Separator)
	if !ok || about.Path != s.Dir && !strings.HasPrefix(about.Path, s.Dir+slash) && !strings.HasPrefix(s.Dir, about.Path+slash) {
		return err
	}
	return &UnwritableError{s.Dir, err}
}

// Staged is a plugin that was fetched and checked, and is not in use yet.
type Staged struct {
	Receipt
	part    string   // its file, in the store under a name that nobody looks for
	size    int64    // in bytes
	digests []string // the SHA-256 of what was fetched, and of the plugin's file if it was packed
}

func (s Store) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

// Stage puts a plugin's file, as r reads, beside those of the store. It changes nothing
// for those who use the plugin. want is the SHA-256 that it has to have; "" is any.
// Either Use or Discard is to be called with what it returns.
func (s Store) Stage(ctx context.Context, name string, r io.Reader, want string) (_ *Staged, err error) {
	if !pluginName().MatchString(name) {
		return nil, fmt.Errorf("%q is no plugin's name", name)
	}
	if err := os.MkdirAll(s.store(), 0o700); err != nil {
		return nil, err
	}
	part, err := os.OpenFile(filepath.Join(s.store(), partPrefix+strings.ToLower(rand.Text())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(part, h), io.LimitReader(contextReader{ctx, r}, maxPlugin+1))
	s.at("written")
	err = errors.Join(err, part.Sync(), part.Chmod(0o500), part.Close())
	sum := hex.EncodeToString(h.Sum(nil))
	switch {
	case err != nil:
		return nil, err
	case n > maxPlugin:
		return nil, fmt.Errorf("it is larger than %d bytes", maxPlugin)
	case n == 0:
		return nil, errors.New("it is empty")
	case want != "" && sum != want:
		return nil, fmt.Errorf("its sha256 is %s, and its checksum says %s: it was damaged on the way, or somebody changed it", sum, want)
	}
	s.at("checked")
	return &Staged{Receipt: Receipt{Name: name, SHA256: sum}, part: part.Name(), size: n, digests: []string{sum}}, nil
}

func (s Store) store() string { return filepath.Join(s.Dir, "store") }

// Digests are the SHA-256 of what was fetched, and of the plugin's file if that was
// packed: what attests it names one of them.
func (p *Staged) Digests() []string { return p.digests }

// Discard removes a staged plugin that is not to be used.
func (p *Staged) Discard() { _ = os.Remove(p.part) }

// Use puts a staged plugin in the place of the version in use. When it fails, or the
// process ends on the way, that version is in use still, or this one is.
func (s Store) Use(ctx context.Context, p *Staged) error {
	defer p.Discard() // there is nothing to remove once it is in the store
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// Under the lock, because Prune would take a version away that nothing leads to yet.
	path, err := s.keep(p)
	if err == nil {
		err = s.link(p.Name, path)
	}
	if err != nil {
		return fmt.Errorf("put %s in place: %w", p.Name, err)
	}
	s.at("linked")
	if err := s.write(&p.Receipt); err != nil {
		return err
	}
	s.at("receipt")
	return nil
}

// keep gives a staged file its place in the store, unless it is there already.
func (s Store) keep(p *Staged) (path string, err error) {
	dir := filepath.Join(s.store(), p.SHA256)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	s.at("made its directory")
	path = filepath.Join(dir, fileName(p.Name))
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == p.size {
		return path, nil
	}
	if err := os.Rename(p.part, path); err != nil {
		return "", err
	}
	s.at("stored")
	return path, nil
}

// link makes the link that is looked for lead to path, at once.
func (s Store) link(name, path string) error {
	temp := filepath.Join(s.Dir, linkPrefix+strings.ToLower(rand.Text()))
	if err := place(path, temp); err != nil {
		return err
	}
	s.at("link made")
	if err := sharedfile.Rename(os.Rename, temp, filepath.Join(s.Dir, fileName(name))); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

func (s Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, s.explain(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err = lockfile.Lock(ctx, filepath.Join(s.Dir, ".lock"))
	return unlock, s.explain(err)
}

func (s Store) receiptPath(name string) string {
	return filepath.Join(s.Dir, "receipts", name+".json")
}

func (s Store) write(r *Receipt) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := s.receiptPath(r.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(path), partPrefix+strings.ToLower(rand.Text()))
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		s.at("receipt made")
		err = sharedfile.Rename(os.Rename, part, path)
	}
	if err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("write the receipt of %s: %w", r.Name, err)
	}
	return nil
}

// Receipt is that of an installed plugin; ErrNotInstalled when there is none.
func (s Store) Receipt(name string) (*Receipt, error) {
	if !pluginName().MatchString(name) {
		return nil, ErrNotInstalled
	}
	f, err := regular.Open(s.receiptPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotInstalled
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r Receipt
	if err := json.NewDecoder(io.LimitReader(f, maxReceipt)).Decode(&r); err != nil || r.Name != name {
		return nil, fmt.Errorf("the receipt %s is damaged; install %s again", s.receiptPath(name), name)
	}
	return &r, nil
}

// Receipts are those of all installed plugins, by name. Damaged ones are left out.
func (s Store) Receipts() []Receipt {
	entries, err := os.ReadDir(filepath.Join(s.Dir, "receipts"))
	if err != nil {
		return nil
	}
	var all []Receipt
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			if r, err := s.Receipt(name); err == nil {
				all = append(all, *r)
			}
		}
	}
	slices.SortFunc(all, func(a, b Receipt) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Pin has upgrades leave a plugin alone, or not.
func (s Store) Pin(ctx context.Context, name string, pinned bool) error {
	if _, err := s.Receipt(name); err != nil {
		return err // nothing needs to be writable for that
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.Receipt(name)
	if err != nil {
		return err
	}
	r.Pinned = pinned
	return s.write(r)
}

// Remove takes an installed plugin away. Its files stay in the store, because a
// mcp.lock may name them; Prune takes them out of it.
func (s Store) Remove(ctx context.Context, name string) error {
	if _, err := s.Receipt(name); errors.Is(err, ErrNotInstalled) {
		return err // nothing needs to be writable for that
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.Receipt(name); errors.Is(err, ErrNotInstalled) {
		return err
	}
	if err := os.Remove(filepath.Join(s.Dir, fileName(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.at("unlinked")
	return os.Remove(s.receiptPath(name))
}

// contextReader reads until ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
