package pins

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Keeper holds what a host executes and lists against the pins. It is safe for
// concurrent use.
type Keeper struct {
	// StateDir takes the pins that cannot be written beside their mcp.toml.
	StateDir string
	// Copies is what is executed.
	Copies *Copies
	// Trusted are directories whose plugins are trusted as this program is: its own.
	// A link in one that leads out of it is trusted no more than where it leads.
	Trusted []string
	// Installed is where plugins are installed. What lies there as
	// store/SHA256/FILE stays there for those whose pins name it, whatever version is
	// in use otherwise. "": nothing is installed.
	Installed string
	// Frozen has nothing pinned that is not: Admit refuses such a plugin, and Remember
	// does nothing.
	Frozen bool

	mu   sync.Mutex
	read map[string]reading // by File.Path
}

// reading is what the files of one mcp.toml said when they were last read.
type reading struct {
	own, fallback identity // zero: there was no such file
	settled       bool     // files that look like that are these
	bytes         [2][]byte
	locks         Locks
}

// Use is one plugin file, and the mcp.toml for which it is looked at.
type Use struct {
	Config string // the mcp.toml's absolute path
	Plugin string // as the entry names it: a name, or a path
	Path   string // of the file, absolute
}

// State is how a plugin file stands to its pin.
type State string

const (
	Shipped  State = "shipped"  // beside this program, and trusted as it is
	Pinned   State = "pinned"   // the file that was accepted
	Unpinned State = "unpinned" // never executed so far: its first start pins it
	Changed  State = "changed"  // another file than the accepted one
)

// Standing is what is known of a plugin file without executing it.
type Standing struct {
	State  State
	SHA256 string   // of the file as it is; empty for a shipped one
	Pins   []string // the digests that are accepted here
	Lock   string   // the mcp.lock, empty for a shipped one
	Target string   // where Path leads, if it is a link
}

// ChangedError is why a plugin file is not executed.
type ChangedError struct {
	Use
	Standing
}

// Error says what became of the file, and what accepts it.
func (e *ChangedError) Error() string {
	where := e.Path
	if e.Target != "" {
		where += " (now a link to " + e.Target + ")"
	}
	return fmt.Sprintf("the plugin file %s is not the one that was pinned: its sha256 is %s, and %s has %s; it was not started. "+
		"If you changed it, 'collet plugins trust %s' accepts it as it is now",
		where, short(e.SHA256), e.Lock, short(strings.Join(e.Pins, " or ")), e.Plugin)
}

// UnpinnedError is why a plugin is not executed that nothing may be pinned for.
type UnpinnedError struct {
	Use
	Lock string
}

// Error says what pins it.
func (e *UnpinnedError) Error() string {
	return fmt.Sprintf("the plugin %s is not pinned in %s, and was not started; 'collet plugins lock' pins it", e.Path, e.Lock)
}

// short is enough of a digest to compare by eye.
func short(sum string) string {
	const shown = 16
	var parts []string
	for _, s := range strings.Split(sum, " or ") {
		parts = append(parts, s[:min(len(s), shown)])
	}
	return strings.Join(parts, " or ")
}

// File is the mcp.lock of an mcp.toml.
func (k *Keeper) File(config string) File { return FileOf(config, k.StateDir) }

// Key is what a plugin is pinned by: its name, or its path, which is relative to
// the mcp.toml when it is below that, so that a checkout can be anywhere.
func Key(u Use) string {
	if !strings.ContainsAny(u.Plugin, `/\`) {
		return u.Plugin
	}
	if rel, err := filepath.Rel(filepath.Dir(u.Config), u.Path); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(u.Path)
}

// Admit returns what to execute for a plugin file. One that was never pinned is
// pinned by that. The error is a *ChangedError when it is not the pinned file; then,
// and whenever the pins cannot be read or written, nothing is to be executed.
func (k *Keeper) Admit(ctx context.Context, u Use) (*Executable, error) {
	if k.shipped(u.Path) {
		return &Executable{Path: u.Path, Run: u.Path}, nil
	}
	if !k.Frozen {
		k.noteUser(u)
	}
	x, err := k.Copies.Of(ctx, u.Path)
	if err != nil {
		return nil, err
	}
	file := k.File(u.Config)
	locks, err := k.locks(file)
	if err != nil {
		return nil, err
	}
	key := Key(u)
	pinned := locks.Plugin(key)
	if len(pinned) == 0 && k.Frozen {
		return nil, &UnpinnedError{u, file.Path}
	}
	if len(pinned) == 0 {
		// Whoever comes first pins it; the others find out under the lock.
		err := file.Change(ctx, func(own *Lock, all Locks) {
			if pinned = all.Plugin(key); len(pinned) == 0 {
				own.SetPlugin(key, x.SHA256)
				pinned = []string{x.SHA256}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("the plugin %s cannot be pinned, and is not started: %w", u.Path, err)
		}
	}
	if !slices.Contains(pinned, x.SHA256) {
		if kept := k.kept(ctx, u.Path, pinned); kept != nil {
			return kept, nil
		}
		return nil, &ChangedError{u, Standing{State: Changed, SHA256: x.SHA256, Pins: pinned, Lock: file.Path, Target: target(u.Path)}}
	}
	return x, nil
}

// Standing looks at a plugin file. It pins nothing.
func (k *Keeper) Standing(u Use) (Standing, error) {
	if k.shipped(u.Path) {
		return Standing{State: Shipped}, nil
	}
	file := k.File(u.Config)
	s := Standing{Lock: file.Path, Target: target(u.Path)}
	var err error
	if s.SHA256, err = k.Copies.Sum(u.Path); err != nil {
		return s, err
	}
	locks, err := k.locks(file)
	if err != nil {
		return s, err
	}
	switch s.Pins = locks.Plugin(Key(u)); {
	case len(s.Pins) == 0:
		s.State = Unpinned
	case slices.Contains(s.Pins, s.SHA256):
		s.State = Pinned
	default:
		s.State = Changed
		for _, sum := range s.Pins {
			if at := k.keptAt(u.Path, sum); at != "" {
				if is, err := k.Copies.Sum(at); err == nil && is == sum {
					s.State, s.SHA256 = Pinned, sum
				}
			}
		}
	}
	return s, nil
}

// kept is the version of an installed plugin that is pinned, if another one is in use.
func (k *Keeper) kept(ctx context.Context, path string, pinned []string) *Executable {
	for _, sum := range pinned {
		if at := k.keptAt(path, sum); at != "" {
			if x, err := k.Copies.Of(ctx, at); err == nil && x.SHA256 == sum {
				return x
			}
		}
	}
	return nil
}

// keptAt is where the store has an installed plugin with that digest, "" for a plugin
// that was not installed.
func (k *Keeper) keptAt(path, sum string) string {
	if k.Installed == "" || filepath.Dir(path) != k.Installed {
		return ""
	}
	return filepath.Join(k.Installed, "store", sum, filepath.Base(path))
}

// AcceptPlugin accepts a file with that digest for a plugin, whatever was accepted
// before. from is where it came from: nothing, where that is not known any more.
func (k *Keeper) AcceptPlugin(ctx context.Context, u Use, sum string, from Plugin) error {
	err := k.File(u.Config).Change(ctx, func(own *Lock, _ Locks) {
		own.SetPlugin(Key(u), sum)
		own.SetOrigin(Key(u), from.Source, from.Version, from.Signer)
	})
	if err != nil {
		return fmt.Errorf("pin the plugin %s: %w", u.Path, err)
	}
	return nil
}

// shipped reports whether a file, links followed, is in a trusted directory.
func (k *Keeper) shipped(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(k.Trusted, func(dir string) bool {
		dir, err := filepath.EvalSymlinks(dir)
		return err == nil && dir == filepath.Dir(real)
	})
}

// target is where a path leads, "" when it is no link.
func target(path string) string {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// locks reads the files of one mcp.toml, unless they are as they were. Of files that
// were written a moment ago, which is to say at most starts, the bytes decide that:
// reading them costs next to nothing beside taking them apart.
func (k *Keeper) locks(f File) (Locks, error) {
	// A file that is missing has no identity, which is one, too.
	own, _ := identify(f.Path)
	fallback, _ := identify(f.Fallback)
	k.mu.Lock()
	defer k.mu.Unlock() // of several at once one reads
	last, ok := k.read[f.Path]
	if ok && last.settled && last.own == own && last.fallback == fallback {
		return last.locks, nil
	}
	now := reading{own: own, fallback: fallback, settled: own.settled() && fallback.settled()}
	for i, path := range []string{f.Path, f.Fallback} {
		data, err := readBytes(path)
		if err != nil {
			return nil, err
		}
		now.bytes[i] = data
		if ok && !last.settled && (data == nil) == (last.bytes[i] == nil) && bytes.Equal(data, last.bytes[i]) {
			now.locks = append(now.locks, last.locks[i])
			continue
		}
		l, err := readLock(path, data)
		if err != nil {
			return nil, err
		}
		now.locks = append(now.locks, l)
	}
	if now.settled {
		now.bytes = [2][]byte{} // the times say enough
	}
	if k.read == nil {
		k.read = map[string]reading{}
	}
	k.read[f.Path] = now
	return now.locks, nil
}
