package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Version is one version of a plugin that the store has.
type Version struct {
	SHA256 string
	Names  []string // of the plugins that have this file, sorted; nearly always one
	Bytes  int64
	// Needed says why the version has to stay; "" is that nobody needs it.
	Needed string
	// Fault is why a version that nobody needs could not be removed, or cannot be.
	Fault error
	// Foreign is something in its directory that collet has not put there: both stay.
	Foreign string
}

// abandoned is how old a file that is being fetched has to be to belong to a process
// that was killed. Everything an installation waits for has a shorter deadline.
const abandoned = 24 * time.Hour

// Pruning is what Prune is to do.
type Pruning struct {
	// Named is asked for the reasons why versions have to stay, by digest. When it
	// fails, nothing is removed.
	Named func(digests []string) (map[string]string, error)
	// Copies is the directory of what is executed in the place of plugins, each copy in
	// a directory named by its digest.
	Copies string
	// DryRun has nothing removed.
	DryRun bool
}

var digest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// Prune takes those versions out of the store that are neither installed, nor named by
// anybody, nor executed by a process, and returns all that it has found, sorted by
// digest.
//
// It holds the lock of the store, so that an installation comes before it or after it.
// A process that is killed in between leaves whole versions, and perhaps an empty
// directory, which is no obstacle to an installation.
func (s Store) Prune(ctx context.Context, p Pruning) ([]Version, error) {
	if _, err := os.Stat(s.store()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing has ever been installed
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("prune %s: %w", s.store(), err)
	}
	defer unlock()
	all, err := s.versions()
	if err != nil {
		return nil, fmt.Errorf("prune %s: %w", s.store(), err)
	}
	for _, reasons := range []func([]string) (map[string]string, error){
		func([]string) (map[string]string, error) { return s.installed(all) }, p.Named,
		func(digests []string) (map[string]string, error) { return executed(s.places(p.Copies), digests) },
	} {
		why, err := reasons(digests(all))
		if err != nil {
			return nil, fmt.Errorf("nothing was removed from %s: %w", s.store(), err)
		}
		for i := range all {
			if all[i].Needed == "" {
				all[i].Needed = why[all[i].SHA256]
			}
		}
	}
	for i := range all {
		if all[i].Needed == "" && all[i].Foreign != "" && len(all[i].Names) == 0 {
			all[i].Fault = fmt.Errorf("its directory holds only what collet has not put there, such as %s", all[i].Foreign)
		}
	}
	if p.DryRun {
		return all, nil
	}
	s.removeLeftOver()
	for i := range all {
		if all[i].Needed != "" || all[i].Fault != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i].Fault = s.removeVersion(&all[i])
	}
	return all, nil
}

func digests(all []Version) []string {
	sums := make([]string, 0, len(all))
	for _, v := range all {
		sums = append(sums, v.SHA256)
	}
	return sums
}

// versions are those in the store. What collet has not put there is not looked at.
func (s Store) versions() ([]Version, error) {
	entries, err := os.ReadDir(s.store())
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, e := range entries {
		if !e.IsDir() || !digest().MatchString(e.Name()) {
			continue
		}
		v := Version{SHA256: e.Name()}
		files, err := os.ReadDir(filepath.Join(s.store(), e.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name, ok := strings.CutPrefix(f.Name(), prefix)
			info, err := f.Info()
			if ok && err == nil && info.Mode().IsRegular() {
				v.Names = append(v.Names, strings.TrimSuffix(name, strings.TrimPrefix(fileName(""), prefix)))
				v.Bytes += info.Size()
			} else {
				v.Foreign = f.Name()
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// installed says which versions are in use: those that a receipt names or that what is
// looked for leads to. A receipt that is damaged does not take its version away.
func (s Store) installed(all []Version) (map[string]string, error) {
	why := map[string]string{}
	for _, r := range s.Receipts() {
		why[r.SHA256] = r.Name + " is installed"
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		used, err := os.Stat(filepath.Join(s.Dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			for _, name := range v.Names {
				info, err := os.Stat(s.file(&v, name))
				if err == nil && os.SameFile(used, info) {
					why[v.SHA256] = e.Name() + " leads to it"
				}
			}
		}
	}
	return why, nil
}

func (s Store) file(v *Version, name string) string {
	return filepath.Join(s.store(), v.SHA256, fileName(name))
}

// removeVersion removes a version's files, then its directory.
func (s Store) removeVersion(v *Version) error {
	for _, name := range v.Names {
		s.at("about to remove")
		if err := os.Remove(s.file(v, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.at("removed")
	}
	if v.Foreign != "" {
		return nil
	}
	if err := os.Remove(filepath.Join(s.store(), v.SHA256)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.at("removed its directory")
	return nil
}

// removeLeftOver removes what processes that were killed have left. Links and receipts
// are made under the lock, which is held; files are fetched without it.
func (s Store) removeLeftOver() {
	for _, at := range []struct {
		dir, prefix string
		age         time.Duration
	}{{s.Dir, linkPrefix, 0}, {filepath.Join(s.Dir, "receipts"), partPrefix, 0}, {s.store(), partPrefix, abandoned}} {
		entries, _ := os.ReadDir(at.dir)
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && !e.IsDir() && strings.HasPrefix(e.Name(), at.prefix) && time.Since(info.ModTime()) >= at.age {
				_ = os.Remove(filepath.Join(at.dir, e.Name())) // the next time removes it
			}
		}
	}
}

// places are the directories that hold what is executed, also by the names that the
// system itself has for them.
func (s Store) places(copies string) []string {
	all := []string{s.store()}
	if copies != "" {
		all = append(all, copies)
	}
	for _, dir := range all {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(all, real) {
			all = append(all, real)
		}
	}
	return all
}

// mentioned says of which of the digests a text has the directory in one of places.
func mentioned(places, digests []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(digests), func(sum string) bool {
		return !slices.ContainsFunc(places, func(dir string) bool { return strings.Contains(text, filepath.Join(dir, sum)) })
	})
}
