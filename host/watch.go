package host

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/layer"
	"github.com/collet-dev/collet/host/internal/reload"
	"github.com/collet-dev/collet/host/internal/trust"
)

// watch has a host follow its configuration files.
type watch struct {
	host   *Host
	places layer.Places // of a host without named files
	files  *reload.Watcher

	// These belong to the goroutine that calls refresh: Open's, then the watcher's.
	layers   []Layer         // in effect
	problems []Problem       // of files whose earlier content is in effect
	told     map[string]bool // untrusted files that were told of, by path and content
	logins   logins
}

// newWatch begins to watch the files of h. A system that does not let them be
// watched is no reason not to open a host: it is logged.
// layers are what the files said when they were read.
func newWatch(ctx context.Context, h *Host, layers []Layer) *watch {
	w := &watch{host: h, layers: layers, told: map[string]bool{}}
	files := func() []string { return h.opt.ConfigFiles }
	if len(h.opt.ConfigFiles) == 0 {
		places := h.opt.Places
		places.StateDir = cmp.Or(places.StateDir, h.opt.StateDir)
		w.places = places.layers()
		files = w.places.Paths
	}
	// The watch begins before the files are looked at once more, so that no change
	// falls between their first reading and the watch.
	ready := make(chan struct{})
	defer close(ready)
	var err error
	w.files, err = reload.Watch(func() []string { return append(h.withPins(files()), h.credentialFile()) }, func(ctx context.Context) {
		<-ready
		w.refresh(ctx)
	}, h.opt.Log)
	if err != nil {
		h.opt.Log.Warn("changes of configuration files will not be noticed", "error", err)
		return nil
	}
	w.refresh(ctx)
	return w
}

// withPins are configuration files and those of their pins.
func (h *Host) withPins(files []string) []string {
	all := slices.Clone(files)
	for _, file := range files {
		if abs, err := filepath.Abs(file); err == nil {
			f := h.pins.File(abs)
			all = append(all, f.Path, f.Fallback)
		}
	}
	return all
}

func (w *watch) close() {
	if w != nil {
		_ = w.files.Close() // has no error to tell
		w.logins.starting.Wait()
	}
}

// refresh takes over what the files say now, if that is something else.
func (w *watch) refresh(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	h := w.host
	h.reloading.Lock()
	defer h.reloading.Unlock()
	h.hub.Reconsider()    // perhaps it is the pins that changed
	w.logins.look(ctx, h) // or somebody has logged in
	layers, problems := w.read()
	if slices.EqualFunc(layers, w.layers, sameLayer) && slices.Equal(problems, w.problems) {
		return
	}
	w.layers, w.problems = layers, problems
	c := config.Merge(layers)
	c.Problems = append(slices.Clip(problems), c.Problems...)
	h.apply(c)
	h.opt.Log.Info("the configuration changed", "servers", len(c.Servers), "problems", len(c.Problems))
	for _, p := range problems {
		h.opt.Log.Warn(p.Error())
	}
}

func sameLayer(a, b Layer) bool {
	return a.File == b.File && a.Layer == b.Layer && bytes.Equal(a.Data, b.Data) && (a.Err == nil) == (b.Err == nil)
}

// read reads the files: what they say, or said when that still counts.
func (w *watch) read() (layers []Layer, problems []Problem) {
	keep := func(l Layer, why string) {
		layers = append(layers, l)
		problems = append(problems, Problem{File: l.File, Message: why + "; its previous content stays in effect"})
	}
	add := func(l Layer) {
		if fault := faultOf(l); fault == nil {
			layers = append(layers, l)
		} else if was, ok := w.before(l.File); ok {
			keep(was, fault.Message)
			problems[len(problems)-1].Line, problems[len(problems)-1].Column = fault.Line, fault.Column
		} else {
			layers = append(layers, l) // its fault is told by whoever merges it
		}
	}
	if files := w.host.opt.ConfigFiles; len(files) > 0 {
		for _, l := range w.named(files) {
			add(l)
		}
		return layers, problems
	}
	for _, f := range layer.Find(w.places).Files {
		switch {
		case f.State == layer.Used, f.State == layer.Unreadable && f.Layer == config.User:
			add(Layer{File: f.Path, Layer: f.Layer, Data: f.Data, Err: f.Err})
		case f.State == layer.Absent:
		default:
			// A project's file that does not count. What it said when it did was
			// trusted, and is for as long as nobody takes that back.
			if was, ok := w.before(f.Path); ok && w.trusts(was) {
				why := "has changed and is not trusted; 'collet trust' accepts it"
				if f.Err != nil {
					why = fmt.Sprintf("cannot be read: %v", f.Err)
				}
				keep(was, why)
			} else if key := f.Path + string(f.Sum[:]); !w.told[key] {
				w.told[key] = true
				w.host.opt.Log.Warn("a project's configuration has no effect: it is not trusted; 'collet trust' accepts it", "file", f.Path)
			}
		}
	}
	return layers, problems
}

// named reads files that a person named. One that is no regular file, a pipe
// perhaps, can be read once only: it goes on saying what it said.
func (w *watch) named(files []string) (layers []Layer) {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice|fs.ModeSocket) != 0 {
			if was, ok := w.before(file); ok {
				layers = append(layers, was)
			}
			continue
		}
		layers = append(layers, config.ReadNamed([]string{file})...)
	}
	return layers
}

// before is what a file said that is in effect and has no fault as a whole.
func (w *watch) before(file string) (Layer, bool) {
	i := slices.IndexFunc(w.layers, func(l Layer) bool { return l.File == file })
	if i < 0 || faultOf(w.layers[i]) != nil {
		return Layer{}, false
	}
	return w.layers[i], true
}

// trusts reports whether a person still accepts what a project's file said.
func (w *watch) trusts(l Layer) bool {
	ok, err := w.places.Trust.Accepted(l.File, trust.SumOf(l.Data))
	return ok && err == nil
}

// faultOf is the fault for which a file as a whole does not count, or nil.
func faultOf(l Layer) *Problem {
	for _, p := range config.Merge([]Layer{l}).Problems {
		if p.Server == "" && p.Key == "" {
			return &p
		}
	}
	return nil
}
