// Package reload notices when configuration files have changed, in whatever way a
// program changes them: written in place, replaced by another file, deleted and
// made again, or reached through symbolic links that point elsewhere now. A burst
// of changes counts once, when it has settled.
//
// It watches directories, never reads a file, and does not know what the files
// are for: whoever is told reads them.
package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long nothing may happen to the files before a change counts as
// finished. Editors write a temporary file, sync and rename it within
// milliseconds; a person waits longer than this to look at the effect.
const settle = 150 * time.Millisecond

// mostSettle bounds the wait for a file that is written all the time.
const mostSettle = 2 * time.Second

// Watcher watches a set of files until it is closed.
type Watcher struct {
	files   func() []string
	changed func(context.Context)
	log     *slog.Logger

	notify *fsnotify.Watcher
	cancel context.CancelFunc
	done   chan struct{}

	// These belong to the goroutine of run.
	dirs   map[string]fs.FileInfo // watched, as they were when the watch began
	seen   map[string]fs.FileInfo // the files as they were last told; nil: not there
	failed map[string]bool        // directories that cannot be watched, told once

	stir chan struct{} // something has happened
	mu   sync.Mutex
	// points are the paths whose events matter, those of watched directories true.
	points map[string]bool
	moved  []string // watched directories that something happened to
}

// Watch calls changed whenever one of files is another than before, once per
// change that has settled, never twice at a time. files is asked at the start and
// after every change; relative paths start from the working directory. A file need
// not be there, nor its directory. changed is called on the watcher's goroutine
// and has to end when its context does. A nil log drops what is told.
//
// The error is a system that does not let files be watched.
func Watch(files func() []string, changed func(context.Context), log *slog.Logger) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch configuration files: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watcher{
		files: files, changed: changed, log: log,
		notify: notify, cancel: cancel, done: make(chan struct{}),
		dirs: map[string]fs.FileInfo{}, failed: map[string]bool{},
		stir: make(chan struct{}, 1),
	}
	var pump sync.WaitGroup
	pump.Go(w.pump)
	// Before this returns, or a change that follows at once would be missed.
	w.seen = w.look()
	go func() {
		defer close(w.done)
		w.run(ctx)
		_ = notify.Close() // ends the pump
		pump.Wait()
	}()
	return w, nil
}

// Close ends the watch and waits for a call of changed that is going on.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	return nil
}

// pump takes what the system tells until the watch is closed. It does nothing
// else: on Windows, asking for another watch waits until all of it is taken.
func (w *Watcher) pump() {
	failures := w.notify.Errors
	for {
		select {
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			if !w.matters(e.Name) {
				continue
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.log.Warn("watching configuration files", "error", err)
			}
			w.doubt() // what was lost may have been about the files
		}
		select {
		case w.stir <- struct{}{}:
		default:
		}
	}
}

func (w *Watcher) matters(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	isDir, ok := w.points[path]
	if isDir && !slices.Contains(w.moved, path) {
		w.moved = append(w.moved, path)
	}
	return ok
}

// doubt has every watch begin anew at the next look.
func (w *Watcher) doubt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved = nil
	for path, isDir := range w.points {
		if isDir {
			w.moved = append(w.moved, path)
		}
	}
}

// run waits for changes to settle and tells of them.
func (w *Watcher) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var first time.Time // when something happened after the last look; zero: nothing has
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.stir:
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			timer.Reset(min(settle, first.Add(mostSettle).Sub(now)))
		case <-timer.C:
			first = time.Time{}
			if now := w.look(); differ(w.seen, now) {
				w.seen = now
				w.changed(ctx)
			}
		}
	}
}

// mostRounds bounds how often look starts over because directories keep appearing.
const mostRounds = 10

// look makes sure that everything between here and the files is watched, and
// returns the files as they are. Nothing that happens meanwhile is lost: it looks
// at a directory's contents again after a watch on it began.
func (w *Watcher) look() map[string]fs.FileInfo {
	files := w.files()
	for range mostRounds {
		dirs, points := map[string]bool{}, map[string]bool{}
		for _, f := range files {
			for _, p := range pointsOf(f) {
				points[p] = false
				dirs[filepath.Dir(p)] = true
			}
		}
		for dir := range dirs {
			points[dir] = true
		}
		w.mu.Lock()
		w.points = points
		moved := w.moved
		w.moved = nil
		w.mu.Unlock()
		for _, dir := range moved {
			w.forget(dir) // the system may have ended its watch
		}
		if !w.watch(dirs) {
			break
		}
	}
	seen := make(map[string]fs.FileInfo, len(files))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			info = nil
		}
		seen[f] = info
	}
	return seen
}

func (w *Watcher) forget(dir string) {
	_ = w.notify.Remove(dir) // not there any more when the directory is not
	delete(w.dirs, dir)
}

// watch watches exactly dirs, and reports whether a watch is new.
func (w *Watcher) watch(dirs map[string]bool) (fresh bool) {
	for dir, was := range w.dirs {
		// A directory that was replaced by another of its name has a watch that
		// looks at the old one.
		if info, err := os.Lstat(dir); !dirs[dir] || err != nil || !os.SameFile(info, was) {
			w.forget(dir)
		}
	}
	for dir := range dirs {
		if w.dirs[dir] != nil {
			continue
		}
		info, err := os.Lstat(dir)
		if err == nil {
			err = w.notify.Add(dir)
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && !w.failed[dir] {
				w.failed[dir] = true
				w.log.Warn("changes of configuration files in this directory will not be noticed", "dir", dir, "error", err)
			}
			continue
		}
		w.dirs[dir] = info
		fresh = true
	}
	return fresh
}

// differ reports whether a file is another one, or has been written.
func differ(was, is map[string]fs.FileInfo) bool {
	if len(was) != len(is) {
		return true
	}
	for f, a := range was {
		b, ok := is[f]
		switch {
		case !ok, (a == nil) != (b == nil):
			return true
		case a == nil:
		case !os.SameFile(a, b), a.Size() != b.Size(), !a.ModTime().Equal(b.ModTime()), a.Mode() != b.Mode():
			return true
		}
	}
	return false
}
